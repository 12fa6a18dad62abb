"""Remark: one finding of the static check, and the rules by name. Free of torch."""

from typing import Literal

from popcorn.schema.case import Frozen

RULES: dict[str, tuple[Literal["note", "warning", "refusal"], str]] = {
    "harness": ("refusal", "imports Popcorn's own modules: a kernel needs nothing of its judge"),
    "other-processes": ("refusal", "reads or signals other processes"),
    "clock": ("warning", "assigns to a clock, a timer or an event"),
    "patching": ("warning", "assigns to an attribute of a module that it imported"),
    "caller": ("warning", "looks at its caller, at the heap, or at code objects"),
    "threads": ("note", "starts threads or processes: they must have ended when the call returns"),
    "stream": ("note", "makes a stream: work on it must be joined to the current one"),
    "settings": ("warning", "changes torch's global settings"),
    "dynamic": ("note", "makes code from text"),
    "swallowed": ("note", "catches every exception and goes on: is there another path behind it?"),
    "library": ("note", "calls a library for work that the kernel is meant to do: recorded as track `any`"),
    "files": (
        "note",
        "opens files or the network: the sandbox lets it write in its own folder alone, read the machine's public files (/etc, /usr, /proc), and reach no network",
    ),
    "lazy": ("warning", "extends torch.Tensor or overrides its dispatch"),
    "lower-precision": ("note", "converts to a lower precision"),
    "syntax": ("note", "does not parse completely; what could be read was checked"),
}
"""Rule → its weight and why it is worth a look. A refusal ends an evaluation before the build, as `rejected`; of the others the run decides."""


class Remark(Frozen):
    """One place in a text that is worth a look."""

    rule: str
    """A name in RULES."""
    weight: Literal["note", "warning", "refusal"]
    """`refusal`: no honest kernel needs it. The others are advice."""
    line: int
    """Line in the file, from 1."""
    what: str
    """The name or form that was found, at most 120 characters."""
    why: str
    """The rule's sentence."""


def remark(rule: str, line: int, what: str) -> Remark:
    """A remark of a known rule."""
    weight, why = RULES[rule]
    return Remark(rule=rule, weight=weight, line=max(1, line), what=" ".join(what.split())[:120], why=why)
