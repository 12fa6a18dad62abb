"""The zygote, whose children leave one construction out where they are told so: started in its place by tests that show what it is there for."""

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

WITHOUT = "POPCORN_TEST_WITHOUT"
"""Environment of a child: the construction that it leaves out."""


def without_sandbox() -> None:
    child = importlib.import_module("popcorn.worker.child")
    child._close_sandbox = lambda message, folder: []  # type: ignore[attr-defined]


def without_own_process() -> None:
    """The reference is run in the candidate's process right before the candidate, as most harnesses do."""
    side = importlib.import_module("popcorn.worker.side")
    softmax = importlib.import_module("torch").softmax
    run = side.Side.do_run

    def do_run(self: Any, message: dict) -> dict:
        expected = softmax(self.slots[0][0][0], -1)
        return {**run(self, message), "expected_bytes": expected.nbytes}

    side.Side.do_run = do_run  # type: ignore[attr-defined]


PATCHES: dict[str, Callable[[], None]] = {"sandbox": without_sandbox, "own_process": without_own_process}


def main(control_fd: int, cuda: bool) -> None:
    """As the zygote's own, with `_take_role` that looks at the environment first."""
    zygote = importlib.import_module("popcorn.worker.zygote")
    imports = zygote._import_heavy_modules

    def importing(size: int) -> None:
        imports(size)
        child = importlib.import_module("popcorn.worker.child")
        take_role = child._take_role

        def weakened(channel: Any, message: dict) -> Any:
            PATCHES.get(message["env"].get(WITHOUT, ""), lambda: None)()
            return take_role(channel, message)

        child._take_role = weakened  # type: ignore[attr-defined]

    zygote._import_heavy_modules = importing  # type: ignore[attr-defined]
    zygote.main(control_fd, cuda)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    os.environ.pop(WITHOUT, None)
    main(int(sys.argv[1]), cuda=sys.argv[2] == "1")
