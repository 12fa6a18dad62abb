"""A proposer that asks a model: the parent with its measurement, other elites, a cell to aim at, guidance; answers by edits or whole texts.

An answer that cannot be used goes back once with the reason; what is not usable then is a proposal without a text.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from popcorn.agents.extracting import find_kernel
from popcorn.search.behaviour import AXES
from popcorn.search.edits import EditRefused, apply_edits, check_block, find_edits, split
from popcorn.search.fitness import speedup_of
from popcorn.search.program import Program, Proposal
from popcorn.search.speaking import Said, Speaker
from popcorn.search.strategies import Context
from popcorn.units import show_ratio

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parents[1] / "prompts"
RETRIES = 1
_AIMS = (
    ("plain loads", "wide vector loads", "tiles kept in cache or shared memory", "staged tiles: packing, prefetch or asynchronous copies"),
    ("a pass for each step", "fused passes", "independent partial results and reductions", "register tiles or matrix units"),
    ("one thread at a time", "SIMD on a CPU, block barriers on a GPU", "threads on a CPU, warp-level exchange on a GPU", "both together"),
)


@dataclass
class LlmProposer:
    """Models by name; a bandit chooses where there are several."""

    speakers: Mapping[str, Speaker]
    task: str
    """The problem as shown to models."""
    language: str
    device: str = "this machine"
    instructions: str = ""

    @property
    def name(self) -> str:
        """Not the list of models: a search may go on with others."""
        return "llm"

    def propose(self, context: Context) -> Proposal:
        """Ask, read, and ask once more where the answer cannot be used."""
        name = context.model or sorted(self.speakers)[0]
        speaker, parent = self.speakers[name], context.parent
        edit = parent is not None and (split(parent.source) is not None or context.rng.random() < 0.6)
        error, said = None, []
        for _ in range(1 + RETRIES):
            said.append(speaker.ask(self._system(), self._question(context, edit, error)))
            if said[-1].error is not None:
                return self._proposal(context, name, said, "", said[-1].error)
            try:
                source, operator = self._read(said[-1].text, parent)
            except EditRefused as refused:
                error = str(refused)
                continue
            return self._proposal(context, name, said, source, None, "repair" if context.repair else operator)
        return self._proposal(context, name, said, "", error)

    def _read(self, text: str, parent: Program | None) -> tuple[str, str]:
        edits = find_edits(text)
        if edits and parent is not None:
            return apply_edits(parent.source, edits), "edit"
        found = find_kernel(text, self.language)
        if found is None:
            raise EditRefused("there is neither a SEARCH/REPLACE block nor a fenced kernel in the answer")
        if parent is not None:
            check_block(parent.source, found)
        return found, "rewrite"

    def _proposal(
        self, context: Context, model: str, said: list[Said], source: str, reason: str | None, operator: str = "rewrite"
    ) -> Proposal:
        prices = [one.cost_usd for one in said]
        known = [one.tokens for one in said if one.tokens is not None]
        return Proposal(
            source=source, parents=(context.parent.id,) if context.parent else (), operator=operator, model=model,
            prompt=context.prompt.id if context.prompt else None, reason=reason, tokens=sum(known) if known else None,
            cost_usd=None if any(one is None for one in prices) else sum(one or 0.0 for one in prices),
        )  # fmt: skip

    def _system(self) -> str:
        return _environment().get_template("system.jinja").render(language=self.language, device=self.device)

    def _question(self, context: Context, edit: bool, error: str | None) -> str:
        parent = context.parent
        target = None
        if context.target is not None and parent is not None:
            changed = [i for i in range(3) if context.target[i] != parent.cell[i]]
            target = "; ".join(f"{AXES[i]}: {_AIMS[i][context.target[i]]}" for i in changed)
        last = parent.measures[-1] if parent is not None and parent.measures else None
        others = [
            {"source": one.source[:20000], "speed": show_ratio(speedup_of(one)), "cell": one.cell} for one in context.inspirations
        ]  # fmt: skip
        return _environment().get_template("propose.jinja").render(
            task=self.task, instructions=self.instructions, guidance=context.prompt.text if context.prompt else "",
            parent=parent.source if parent else "", repair=context.repair, parent_speed=f"{show_ratio(speedup_of(parent))} the reference" if parent else "",
            parent_told=(last.told or last.reason or last.outcome) if last else "", notes=context.notes, inspirations=others, target=target,
            error=error, edit=edit, block=parent is not None and split(parent.source) is not None,
        )  # fmt: skip


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
