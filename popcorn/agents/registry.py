"""What Inspect finds of ours by name, through the entry point `inspect_ai`: the task popcorn/kernels, the agent, the offline models. Needs Inspect."""

from inspect_ai.model import ModelAPI, modelapi

from popcorn.agents.loop import kernel_writer
from popcorn.agents.task import kernels

__all__ = ["baseline", "kernel_writer", "kernels", "replay", "scripted"]


@modelapi(name="scripted")
def scripted() -> type[ModelAPI]:
    """scripted/<policy>."""
    from popcorn.agents.providers.scripted import Scripted

    return Scripted


@modelapi(name="replay")
def replay() -> type[ModelAPI]:
    """replay/<path of a run.json>."""
    from popcorn.agents.providers.replay import Replay

    return Replay


@modelapi(name="baseline")
def baseline() -> type[ModelAPI]:
    """baseline/eager, baseline/compile."""
    from popcorn.agents.providers.baseline import Baseline

    return Baseline
