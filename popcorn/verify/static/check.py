"""The static check of one candidate: its own text, and texts in it that will be compiled. Free of torch."""

from popcorn.verify.static import native, python
from popcorn.verify.static.remark import Remark


def check_text(source: str, is_python: bool) -> tuple[Remark, ...]:
    """Remarks by line. Advice: a verdict comes from running. Never raises."""
    if not is_python:
        return tuple(native.find(source))
    found = python.find(source)
    for line, text in python.texts_in(source):
        inner = native.find(text, line)
        if not any(one.rule == "syntax" for one in inner):  # a text that is no C after all says nothing
            # the text may be a comment to somebody: what is refused is only what a compiler is asked for, or the file's own code
            found += [one.model_copy(update={"weight": "warning"}) if one.weight == "refusal" else one for one in inner]
    return tuple(sorted(found, key=lambda one: (one.line, one.rule)))


def refusals(remarks: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """Those that no honest kernel needs."""
    return tuple(one for one in remarks if one.weight == "refusal")
