"""SearchPlan: everything that a search is asked, in one frozen value. The same plan with the same seed is the same search."""

from typing import Literal

from pydantic import Field

from popcorn.schema.case import Frozen, GradientMode, Precision

StrategyName = Literal["map_elites", "greedy", "best_of_n", "islands"]


class SearchPlan(Frozen):
    """One search."""

    problem: str
    """Problem id or path."""
    problem_hash: str = ""
    """Of the reference's text: a search goes on with the problem that it began with."""
    language: str = "c"
    """What kernels are written in."""
    precision: Precision = "float32"
    """Element type."""
    gradient: GradientMode = "none"
    """Forward alone, or with gradients."""
    seeds: tuple[str, ...] = ()
    """Texts to begin with; judged first."""
    instructions: str = ""
    """Of a custom task, for the model."""
    strategy: StrategyName = "map_elites"
    """How parents are chosen: the one word to change for an ablation."""
    evaluations: int = Field(default=60, ge=1)
    """Budget of finished evaluations; texts that no judge saw do not count."""
    cost_usd: float | None = None
    """Budget of money."""
    device_s: float | None = None
    """Budget of seconds on devices."""
    target: float | None = None
    """Stop when the lower bound of the best speedup reaches this."""
    seed: int = 0
    """Of every random choice."""
    width: int = Field(default=1, ge=1, le=256)
    """Programs of one generation: proposed from the same state, judged side by side, learned in order."""
    islands: int = Field(default=4, ge=1)
    """Populations, for `islands`."""
    migrate_every: int = Field(default=20, ge=1)
    """Evaluations between two migrations."""
    exploit: float = Field(default=0.5, ge=0, le=1)
    """Share of steps whose parent is the best of all; others draw an elite."""
    repair: float = Field(default=0.15, ge=0, le=1)
    """Share of steps that mend a program of the repair pool, once some program is correct; without any, all do where there is one to mend."""
    inspirations: int = Field(default=2, ge=0, le=8)
    """Other programs of the same island shown to a model."""
    remeasure: int = Field(default=1, ge=0, le=5)
    """Measures more that an elite gets before it is replaced by a program that is not clearly better."""
    finals: int = Field(default=3, ge=0)
    """Programs measured again on fresh seeds at the end."""
    tune: int = Field(default=0, ge=0)
    """Points tried of each template that reaches the archive; 0: templates stay as written."""
    attempts: int = Field(default=4, ge=1)
    """Proposals at most, as a multiple of `evaluations`: a proposer that only repeats itself ends the search, too."""
