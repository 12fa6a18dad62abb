"""Starting a search from names: problem, proposer, models, seeds, place. What the command line, the proxy and sweeps call."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from popcorn.agents.models import find_model
from popcorn.agents.place import Place
from popcorn.agents.prompts import write_task
from popcorn.agents.workbench import Settings
from popcorn.errors import BadSearch, PopcornError
from popcorn.reading import read_kernel
from popcorn.records.runs import default_runs
from popcorn.search.asking import Judge, Proposer
from popcorn.search.finding import Finding
from popcorn.search.judging import Effort, EngineJudge
from popcorn.search.ledger import FILE, Ledger
from popcorn.search.loop import Tell, search
from popcorn.search.metaprompts import PromptPool
from popcorn.search.pages import write_search
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Program
from popcorn.search.progress import Progress
from popcorn.search.proposers.endpoint import Endpoint
from popcorn.search.proposers.llm import LlmProposer
from popcorn.search.proposers.mutate import Mutators, general
from popcorn.search.proposers.replay import Replay
from popcorn.search.speaking import ModelSpeaker, Speaker
from popcorn.search.verifiers import Verifiers
from popcorn.search.winners import searches_folder
from popcorn.suites.problems import Problem

MUTATE = "mutate"


@dataclass(frozen=True)
class Asked:
    """A search in words."""

    problem: Problem
    plan: SearchPlan
    proposer: str = MUTATE
    """`mutate`, `replay:FOLDER`, an http(s) URL, or the name of a model; several by commas."""
    models: Path | None = None
    """A TOML file with models of the user's own."""
    verify: bool = False
    """Three verifiers read before hardware does (models only)."""
    meta_prompts: bool = False
    """Prompt sections evolve, too (models only)."""
    effort: Effort = field(default_factory=Effort)
    name: str | None = None
    """Of the search; None: from the plan, so that the same command goes on with it."""


def search_id(asked: Asked) -> str:
    """The same for the same question."""
    if asked.name is not None:
        if not re.fullmatch(r"[\w.-]{1,80}", asked.name) or asked.name.startswith("."):
            raise BadSearch(f"{asked.name[:80]!r} cannot name a search; expected letters, digits, _ . -")
        return asked.name
    text = "/".join([asked.plan.model_dump_json(), asked.proposer, repr(asked.effort), str(asked.verify), str(asked.meta_prompts)])
    short = re.sub(r"\W+", "_", asked.problem.id)[-40:]
    return f"{short}-{asked.plan.strategy}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def start(
    asked: Asked, place: Place, *, fresh: bool = False, tell: Tell = lambda *_: None, judge: Judge | None = None,
    speakers: Mapping[str, Speaker] | None = None, folder: Path | None = None,
) -> tuple[Finding, str]:  # fmt: skip
    """Run it, or go on with it; its pages follow it. (what was found, its id). `fresh` sets an earlier one of the same name aside."""
    place.check(asked.problem)
    plan = asked.plan.model_copy(update={"problem": asked.problem.id, "problem_hash": asked.problem.hash})
    identity = search_id(asked)
    there = (folder or searches_folder()) / identity
    if fresh and (there / FILE).exists():
        _set_aside(there)
    found = {} if speakers is None else dict(speakers)
    proposer = make_proposer(asked, plan, place, found)
    if not plan.seeds and not isinstance(proposer, (LlmProposer, Endpoint, Replay)):
        raise BadSearch("mutators need a kernel to begin with: give one with --seed-file, or a model with --proposer.")
    speaker = next(iter(found.values()), None)
    prompts = PromptPool(speaker if asked.meta_prompts else None) if isinstance(proposer, LlmProposer) else None
    verifiers = Verifiers(speaker, proposer.task) if asked.verify and isinstance(proposer, LlmProposer) and speaker else None
    state = Progress(plan, tuple(sorted(found)) if len(found) > 1 else (), prompts)
    with Ledger(there) as ledger:

        def follow(progress: Progress, program: Program | None) -> None:
            write_search(progress, ledger, asked.proposer, default_runs())
            tell(progress, program)

        judge = judge or EngineJudge(place.engine, asked.problem, plan, place.device, asked.effort)
        result = search(plan, proposer, judge, ledger, verifiers=verifiers, progress=state, tell=follow)
        write_search(state, ledger, asked.proposer, default_runs())
    return result, identity


def make_proposer(asked: Asked, plan: SearchPlan, place: Place, speakers: dict[str, Speaker]) -> Proposer:
    """By its word; models are opened with the first question, and put into `speakers`. Raises BadSearch, BadAgent."""
    word = asked.proposer
    if word == MUTATE and not speakers:
        return Mutators(general(), steps=3)
    if word.startswith("replay:"):
        return Replay.of(Path(word.removeprefix("replay:")))
    task = write_task(asked.problem, Settings(language=plan.language, precision=plan.precision), place)
    if word.startswith(("http://", "https://")):
        return Endpoint(word, task, plan.language)
    for name in () if speakers else word.split(","):
        row = find_model(name.strip(), asked.models)
        speakers[row.name] = ModelSpeaker(row)
    return LlmProposer(speakers, task, plan.language, place.machine().device_name, plan.instructions)


def read_seeds(paths: Sequence[Path]) -> tuple[str, ...]:
    """Texts to begin with. Raises BadSearch for a file that cannot be read or is too long."""
    found = []
    for path in paths:
        try:
            text = read_kernel(path)
        except PopcornError as error:
            raise BadSearch(str(error)) from None
        if not text.strip():
            raise BadSearch(f"{path} is empty; give a kernel's source.")
        found.append(text)
    return tuple(found)


def language_of(asked: str, place: Place) -> str:
    """`auto` is cuda on a GPU, else c."""
    return ("cuda" if place.machine().kind == "cuda" else "c") if asked == "auto" else asked


def _set_aside(folder: Path) -> None:
    number = 1
    while (there := folder.with_name(f"{folder.name}.{number}")).exists():
        number += 1
    folder.rename(there)
