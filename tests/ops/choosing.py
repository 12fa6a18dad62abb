"""The chooser without memory."""

from popcorn.ops.calls import Call
from popcorn.ops.implementation import Implementation
from popcorn.ops.registry import REFERENCE, Op


class FirstAccepting:
    """The first implementation that accepts, in the order of registration, else the reference."""

    def choose(self, op: Op, call: Call) -> Implementation:
        return next((one for one in op.implementations.values() if one.accepts(call)), op.implementations[REFERENCE])

    def explain(self, op: Op, call: Call) -> str:
        return f"{op.name}: {self.choose(op, call).name}, the first that accepts this call"
