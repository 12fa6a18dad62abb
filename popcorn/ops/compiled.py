"""The implementation `inductor`: an op's reference under torch.compile. Imports without torch; running it needs torch."""

from typing import TYPE_CHECKING, Any

from popcorn.errors import MissingTool
from popcorn.ops.calls import ACCEPTED, Answer, Call, Rejected

if TYPE_CHECKING:
    from popcorn.ops.implementation import Implementation
    from popcorn.ops.registry import Op


NAME = "inductor"


def compiled(op: "Op") -> "Implementation":
    """The reference as torch.compile makes it, compiled by the first call of each shape."""
    from popcorn.ops.implementation import Implementation, hash_text

    made: list[Any] = []

    def run(*args: Any, **kwargs: Any) -> Any:
        if not made:
            import torch

            made.append(torch.compile(op.reference))
        return made[0](*args, **kwargs)

    source = f"torch.compile({op.name})\n\n{op.reference_source}"
    return Implementation(NAME, "torch", run, accepts, source, hash_text(source), op.reference)


def accepts(call: Call) -> Answer:
    """Inductor builds with a C++ compiler on a CPU and with Triton on a GPU."""
    if call.autocast or call.precision in ("mixed", "other"):
        return Rejected("is measured in one element type and without autocast; the reference behaves as torch does")
    if 0 in call.dims.values():
        return Rejected("is not measured on empty tensors")
    if call.device == "cpu":
        from popcorn.toolchain.command import find_compiler

        try:
            find_compiler("cpp")
        except MissingTool as error:
            return Rejected(str(error))
        return ACCEPTED
    try:
        import triton  # noqa: F401
    except ImportError:
        return Rejected("needs a GPU and triton: pip install triton")
    return ACCEPTED
