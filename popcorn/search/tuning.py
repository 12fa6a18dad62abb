"""Tuning of declared parameters on hardware: Optuna proposes points, the judge measures them, the best few are measured again.

A point is one build, kept by its content. A point that fails is told to Optuna as failed and tried no more. What every point gave goes to
the next prompt and to the page. All answers are in the ledger, so a tuning that was killed goes on, too.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from popcorn.errors import BadSearch, MissingTool
from popcorn.search.behaviour import describe
from popcorn.search.fitness import bound, speedup_of
from popcorn.search.normal import normal
from popcorn.search.program import Judged, Program, Proposal, program_id
from popcorn.search.templates import Point, Template, read_template, set_parameters
from popcorn.units import show_ratio

if TYPE_CHECKING:
    from popcorn.search.progress import Progress

AGAIN = 2
"""Points measured again before one is called the best: a single sweep is not to be trusted."""


def tune(state: "Progress", program: Program, judged: Callable[[str, str], Judged]) -> list[Program]:
    """Measure points of the program's template; the best, where it is better than the program, as a program of its own, learned."""
    try:
        template = read_template(program.source)
    except BadSearch as error:
        state.notes[program.id] = str(error)
        return []
    if template is None or program.proposal.operator == "tune":
        return []
    made: list[Program] = []
    for point in _points(template, min(state.plan.tune, state.left()), state.plan.seed, made):
        source = set_parameters(program.source, point)
        if normal(source) in state.seen or state.left() == 0:
            made.append(dataclasses.replace(program, measures=()))
            continue
        state.seen.append(normal(source))
        made.append(_measure(state, program, source, point, judged))
    tried = [one for one in made if one.measures]
    for one in sorted(tried, key=lambda found: bound(found.measures), reverse=True)[:AGAIN]:
        if one.outcome == "correct" and state.left() > 0:
            more = state.measured_again(one, judged(f"again/{one.id}/1", one.source))
            tried[tried.index(one)] = more
    state.notes[program.id] = _table(template, program, tried)
    best = max((one for one in tried if one.outcome == "correct"), key=lambda found: bound(found.measures), default=None)
    for one in tried:
        state.places[one.id] = "point"
    if best is None or bound(best.measures) <= bound(program.measures):
        return []
    state.places[best.id] = state.population.learn(best)
    state.notes[best.id] = state.notes[program.id]
    return [best]


def _measure(state: "Progress", program: Program, source: str, point: Point, judged: Callable[[str, str], Judged]) -> Program:
    name = json.dumps(point, sort_keys=True)
    answer = judged(f"tune/{program.id}/{name}", source)
    state.count(answer)
    proposal = Proposal(source=source, parents=(program.id,), operator="tune", params=point, cost_usd=0.0)
    made = Program(
        f"{program_id(program.step, source)}t", program.step, proposal, answer.cell or describe(source, state.plan.language), program.island,
        program.generation, (answer,),
    )  # fmt: skip
    state.history.append(made)
    state.costs[made.id] = state.cost_usd
    state.tried.append({"program": program.id, "point": point, "outcome": answer.outcome, "speedup": answer.speedup})
    return made


def _points(template: Template, most: int, seed: int, made: list[Program]) -> Iterator[Point]:
    """Points to measure: all of them where they are few, else as Optuna's TPE sampler asks for, the written one first."""
    every = [point for point in template.points() if point != template.written]
    if len(every) <= most:
        yield from every
        return
    study, distributions = _study(template, seed)
    for _ in range(most):
        trial = study.ask(distributions)
        point = {name: template.values[name][trial.params[name]] for name in template.values}
        if not template.allows(point):
            study.tell(trial, state=_states().PRUNED)
            continue
        yield point
        last = made[-1]
        if last.measures and last.outcome == "correct":
            study.tell(trial, bound(last.measures))
        else:
            study.tell(trial, state=_states().FAIL)


def _study(template: Template, seed: int) -> tuple[Any, dict[str, Any]]:
    try:
        import optuna
    except ImportError:
        raise MissingTool("tuning needs Optuna: pip install 'popcornbench[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=4))
    # by place in the list: values may be of any type
    return study, {name: optuna.distributions.CategoricalDistribution(range(len(values))) for name, values in template.values.items()}


def _states() -> Any:
    from optuna.trial import TrialState

    return TrialState


def _table(template: Template, program: Program, tried: list[Program]) -> str:
    rows = [(template.written, program), *((one.proposal.params, one) for one in tried)]
    return "\n".join(
        f"{', '.join(f'{name}={value}' for name, value in sorted(point.items()))}: "
        f"{one.outcome if one.outcome != 'correct' else show_ratio(speedup_of(one))}"
        for point, one in rows
    )
