"""Sizes that nobody sees before the end: a quarter of all sizes is kept for the final judgement, and no reason shows a drawn size. Runs in the parent.

Which sizes are held out follows from the sizes alone, so that no run needs to remember what another one drew. Values are fresh everywhere.
"""

import hashlib
import re
from typing import TYPE_CHECKING

from popcorn.worker.seeds import derive

if TYPE_CHECKING:
    from popcorn.worker.session import Session

_ATTEMPTS = 64


def is_held_out(dims: dict[str, int]) -> bool:
    """Whether these sizes belong to the quarter that only a final judgement draws."""
    text = ",".join(f"{name}={size}" for name, size in sorted(dims.items()))
    return hashlib.sha256(text.encode()).digest()[0] % 4 == 0


def draw_dims(session: "Session", index: int) -> dict[str, int]:
    """Sizes of one trial as the request asks for them; where a problem has none of that kind, whatever was drawn last.

    A final judgement begins with the problem's settings (the corners of its ranges, or its list), in an order that the secret decides, and leaves the
    second half of its trials to sizes that are kept for it.
    """
    assert session.oracle is not None
    asked, nominal = session.request.sizes, session.opened["nominal"]
    dims = dict(nominal)
    half = session.request.trials // 2
    if asked == "held_out" and 0 < index < half:
        number = (derive(session.secret, "settings") + index) % max(half - 1, 1)
        return session.ask(session.oracle, {"do": "draw", "seed": str(derive(session.secret, "sizes", index)), "setting": number})["dims"]
    for attempt in range(1 if asked == "any" else _ATTEMPTS):
        labels = (index,) if attempt == 0 else (index, attempt)
        dims = session.ask(session.oracle, {"do": "draw", "seed": str(derive(session.secret, "sizes", *labels))})["dims"]
        if (dims != nominal or asked == "open") and is_held_out(dims) == (asked == "held_out"):
            break
    return dims


def hidden(text: str, dims: dict[str, int], nominal: dict[str, int]) -> str:
    """The text without any number that is a drawn size of this trial and no nominal one."""
    secret = {str(size) for size in dims.values()} - {str(size) for size in nominal.values()}
    return re.sub(r"\d+(?:,\d{3})*", lambda found: "?" if found[0].replace(",", "") in secret else found[0], text)
