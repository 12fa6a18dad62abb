"""Prompts that evolve beside the kernels: four sections, every version kept with its record, credited by mean improvement over the parent.

The largest speedup would favour the prompt that was used most and timed luckiest, so it is kept for the page and decides nothing. A fixed
share of the steps uses the prompt that everything began with: a change for the worse is seen, and undone by choice.
"""

import hashlib
import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from popcorn.search.ledger import Ledger
from popcorn.search.speaking import Speaker

if TYPE_CHECKING:
    from popcorn.search.progress import Progress

SECTIONS = ("philosophy", "strategies", "pitfalls", "analysis")
SEED_SHARE = 0.25
SHRINK = 3.0
"""Uses without gain that every prompt is taken to have had: a prompt that was lucky once does not lead."""
MOST_CHARACTERS = 2500
"""Of a section."""
FIRST = {
    "philosophy": "Find what bounds the kernel on this device first: bytes moved, operations, or latency. Change one thing at a time.",
    "strategies": "Fuse passes over the same data; read memory once, in order, in wide pieces; keep values in registers; break chains of sums.",
    "pitfalls": "Sizes change between calls: handle tails. Never assume alignment that was not checked. Never write to inputs or keep results.",
    "analysis": "Before you write, say in two sentences what the parent is bound by, and what your change does about it.",
}
_BLOCK = re.compile(r"^\[(philosophy|strategies|pitfalls|analysis)\]\s*$", re.MULTILINE)
_SYSTEM = (
    "You improve the guidance that a kernel-writing model gets. You see its four sections and how kernels written with them did. First diagnose in a "
    "few sentences what the guidance lacks or gets wrong. Then write each section that should change as a line `[name]` followed by its whole new text. "
    f"Names: {', '.join(SECTIONS)}. At most {MOST_CHARACTERS} characters a section. Be concrete; never name a particular answer."
)


@dataclass(frozen=True)
class PromptVersion:
    """Four sections."""

    id: str
    sections: dict[str, str]
    parent: str | None = None

    @property
    def text(self) -> str:
        """As it stands in a prompt."""
        return "\n\n".join(f"## {name}\n{self.sections[name]}" for name in SECTIONS)


@dataclass
class Credit:
    """How a prompt did."""

    gains: list[float] = field(default_factory=list)
    best: float | None = None

    @property
    def mean(self) -> float:
        """Improvement over the parent, shrunk towards 0 while there are few uses."""
        return sum(self.gains) / (len(self.gains) + SHRINK)


@dataclass
class PromptPool:
    """Versions with their credit; the first is the seed."""

    speaker: Speaker | None = None
    """Who writes new versions; None: only the seed is used."""
    every: int = 10
    """Uses between two new versions."""
    most: int = 24
    """Versions at most."""
    versions: list[PromptVersion] = field(default_factory=list)
    credits: dict[str, Credit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.versions = self.versions or [version(FIRST)]
        self.credits = {one.id: self.credits.get(one.id, Credit()) for one in self.versions}
        self._made = 0

    def choose(self, rng: random.Random) -> PromptVersion:
        """The seed in a fixed share of the steps; else the best by mean improvement, a new one first of all, sometimes any."""
        if rng.random() < SEED_SHARE or len(self.versions) == 1:
            return self.versions[0]
        untried = [one for one in self.versions[1:] if len(self.credits[one.id].gains) < 2]
        if untried:
            return untried[0]
        if rng.random() < 0.2:
            return rng.choice(self.versions)
        return max(self.versions, key=lambda one: self.credits[one.id].mean)

    def credit(self, identity: str, gain: float, speedup: float | None) -> None:
        """One child: its improvement over its parent, its speedup for the page."""
        credit = self.credits[identity]
        credit.gains.append(gain)
        credit.best = max(credit.best or 0.0, speedup) if speedup is not None else credit.best

    def evolve(self, state: "Progress", ledger: Ledger) -> float:
        """A new version of the best one where it is due; what it cost."""
        uses = sum(len(one.gains) for one in self.credits.values())
        if self.speaker is None or uses < self.every * (self._made + 1) or len(self.versions) >= self.most:
            return 0.0
        self._made += 1
        parent = max(self.versions, key=lambda one: self.credits[one.id].mean)
        question = self._question(parent, state)
        speaker = self.speaker
        answer: dict[str, Any] = ledger.once(f"prompt/{self._made}", parent.id, lambda: vars(speaker.ask(_SYSTEM, question)))
        made = version({**parent.sections, **read_sections(answer["text"])}, parent.id)
        if made.id not in self.credits:
            self.versions.append(made)
            self.credits[made.id] = Credit()
        return float(answer["cost_usd"] or 0.0)

    def _question(self, parent: PromptVersion, state: "Progress") -> str:
        made = [one for one in state.history if one.proposal.prompt == parent.id][-12:]
        rows = "\n".join(f"- {one.outcome}, {one.measures[-1].told or one.measures[-1].reason or ''}"[:300] for one in made)
        credit = self.credits[parent.id]
        best = state.population.best
        shown = f"\n\nThe best kernel so far:\n```\n{best.source[:12000]}\n```" if best else ""
        return f"{parent.text}\n\nUses: {len(credit.gains)}, mean improvement {credit.mean:+.2f}.\nWhat became of kernels written with it:\n{rows}{shown}"


def version(sections: dict[str, str], parent: str | None = None) -> PromptVersion:
    """A version, named by its content."""
    kept = {name: sections[name].strip()[:MOST_CHARACTERS] for name in SECTIONS}
    digest = hashlib.sha256("\x1f".join(kept[name] for name in SECTIONS).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return PromptVersion(digest, kept, parent)


def read_sections(text: str) -> dict[str, str]:
    """Sections that an answer writes anew; anything else in it is no part of a prompt."""
    marks = list(_BLOCK.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    found = {mark[1]: text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=False)}
    return {name: body for name, body in found.items() if body}
