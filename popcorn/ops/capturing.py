"""What a piece of code asks of the library: `with popcorn.capture() as w:` around a model's step, `w.save(path)` after it. Imports without torch.

Seen are calls of ops (`rms_norm(x, weight)`) of every thread while the context is open. Not seen: an implementation called by its name or
frozen by `specialize`, for which nothing is chosen, and what is traced or transformed (torch.compile, torch.func), where an op is its reference. While nothing is
captured, a call pays nothing for this.
"""

import threading
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from popcorn.errors import BadRecord, MissingFile, PopcornError
from popcorn.ops import registry
from popcorn.ops.calls import Call
from popcorn.schema.case import Case
from popcorn.schema.workload import CapturedCall, LeftOut, Workload

_LARGEST_BYTES = 64 << 20

_open = threading.Lock()


class Capture(AbstractContextManager["Capture"]):
    """The calls seen so far. Needs torch once it is entered."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str, str]] = Counter()
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> "Capture":
        """Raises PopcornError where another capture is open: a call would be counted by one of them alone."""
        if not _open.acquire(blocking=False):
            raise PopcornError("another popcorn.capture() is open in this process; close it first")
        registry._load_calling()
        from popcorn.ops.calling import carry_out, describe
        from popcorn.ops.watching import watched

        def carry_out_and_note(op: registry.Op, args: tuple[Any, ...], kwargs: dict[str, Any], bench: bool) -> Any:
            if not watched():
                self._note(op, describe(op, args, kwargs))
            return carry_out(op, args, kwargs, bench)

        registry._carry_out = carry_out_and_note
        return self

    def __exit__(self, *_: object) -> None:
        registry._load_calling()
        _open.release()

    @property
    def workload(self) -> Workload:
        """What was seen, the most frequent first."""
        with self._lock:
            seen, left_out = self._seen.most_common(), self._left_out.most_common()
        calls = tuple(
            CapturedCall.model_validate({"op": op, "case": Case.model_validate_json(case), "device": device, "count": count})
            for (op, case, device), count in seen
        )
        return Workload(calls=calls, left_out=tuple(LeftOut(op=op, reason=reason, count=count) for (op, reason), count in left_out))

    def save(self, path: str | Path) -> Path:
        """Write it for `popcorn bench run --workload`, and return where."""
        path = Path(path)
        path.write_text(self.workload.model_dump_json(indent=1), encoding="utf-8")
        return path

    def _note(self, op: registry.Op, call: Call) -> None:
        reason = _why_not(op, call)
        with self._lock:
            if reason is not None:
                self._left_out[op.name, reason] += 1
            else:
                self._seen[op.name, call.case().model_dump_json(), call.device] += 1


def capture() -> Capture:
    """Note every call of an op while the context is open."""
    return Capture()


def read_workload(path: Path) -> Workload:
    """A saved workload. Raises MissingFile, or BadRecord for a file that is none."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise BadRecord(f"{path} is too long for a workload; expected at most {_LARGEST_BYTES >> 20} MB of JSON")
        return Workload.model_validate_json(path.read_bytes())
    except OSError as error:
        raise MissingFile(f"{path} cannot be read ({error.strerror}); `with popcorn.capture() as w: …; w.save(path)` writes one.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:120] or "its beginning"
        raise BadRecord(f"{path} is no workload: {first['msg'][:200]} at {where}; capture it again.") from None


def _why_not(op: registry.Op, call: Call) -> str | None:
    """Why no record can answer this call; None where one can."""
    if op.file is not None:
        return "it does not ship with Popcorn: measure it with its benchmark(…)"
    if call.autocast:
        return "under autocast the reference carries it out"
    if call.precision in ("mixed", "other"):
        return "of mixed or other element types, which the reference carries out"
    if 0 in call.dims.values():
        return "on empty tensors, which the reference carries out"
    missing = [name for name in op.signature.dims if name not in call.dims]
    return f"no shape of the call tells {missing[0]}" if missing else None
