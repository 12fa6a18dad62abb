"""The main path of a search, one screen: choose → propose → screen → judge → learn, a generation at a time; every effect is in the ledger.

Choosing and learning are functions of the plan and of the ledger's answers, in the order of steps. So a search that was killed anywhere
runs again from its first step, reads its answers back, and is where it was: archive, bandit, prompts and random generators alike.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from popcorn.search.asking import Judge, Proposer, Screen
from popcorn.search.finding import Finding
from popcorn.search.ledger import Ledger
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged, Program, Proposal
from popcorn.search.progress import Progress
from popcorn.search.screens import SCREENS
from popcorn.search.strategies import Context
from popcorn.search.tuning import tune
from popcorn.search.verifiers import Verifiers

Tell = Callable[[Progress, Program | None], None]


def search(
    plan: SearchPlan,
    proposer: Proposer,
    judge: Judge,
    ledger: Ledger,
    *,
    screens: Sequence[Screen] = SCREENS,
    verifiers: Verifiers | None = None,
    progress: Progress | None = None,
    tell: Tell = lambda *_: None,
) -> Finding:
    """Run it, or go on with it, until a budget ends it. Raises BadSearch when the ledger belongs to another search, PopcornError for what the
    user must mend; whatever a proposer or a candidate does is a program."""
    state = progress or Progress(plan)
    ledger.once("plan", [plan.model_dump(mode="json"), proposer.name], lambda: {"proposer": proposer.name, **plan.model_dump(mode="json")})

    def propose(context: Context) -> Proposal:
        if context.step < len(plan.seeds):
            return Proposal(source=plan.seeds[context.step], operator="seed")
        asked = [context.parent.id if context.parent else None, context.island, context.model, context.prompt and context.prompt.id]
        return Proposal.model_validate(ledger.once(f"ask/{context.step}", asked, lambda: dump(proposer.propose(context))))

    def judged(key: str, source: str) -> Judged:
        return Judged.model_validate(ledger.once(key, source, lambda: dump(judge.judge(source))))

    with _pool(plan.width, ledger) as pool:
        while steps := state.next_generation():
            contexts = [state.choose(step, random.Random(f"{plan.seed}/{step}")) for step in steps]
            proposals = list(pool.map(propose, contexts))
            worth = []
            for context, proposal in zip(contexts, proposals, strict=True):
                reason = state.screen(context, proposal, screens)
                if reason is None and verifiers is not None and context.step >= len(plan.seeds):
                    reason = verifiers.look(context.step, proposal.source, ledger)
                if reason is None:
                    worth.append((context, proposal))
                else:
                    tell(state, state.leave_out(context, proposal, reason))
            answers = list(pool.map(lambda one: judged(f"judge/{one[0].step}", one[1].source), worth))
            state.promised = len(worth)
            for (context, proposal), answer in zip(worth, answers, strict=True):
                state.promised -= 1
                program = _settle(state, state.program(context, proposal, answer), judged)
                if verifiers is not None:
                    verifiers.learn(context.step, program)
                place = state.learn(context, program)
                tell(state, program)
                if plan.tune and place in ("new", "better"):
                    for better in tune(state, program, judged):
                        tell(state, better)
            state.end_generation(ledger)
    return _measure_winners(state, judged, ledger, tell)


@contextmanager
def _pool(width: int, ledger: Ledger) -> Iterator[ThreadPoolExecutor]:
    """Threads that are waited for, unless the user stops: a model's answer may take minutes, and nothing that still comes is written down."""
    pool, stopped = ThreadPoolExecutor(width), False
    try:
        yield pool
    except (KeyboardInterrupt, SystemExit):
        stopped = True
        ledger.close()
        raise
    finally:
        pool.shutdown(wait=not stopped, cancel_futures=stopped)


def _settle(state: Progress, program: Program, judged: Callable[[str, str], Judged]) -> Program:
    """Before an elite is replaced, it and its challenger are measured again, unless their intervals are apart; within the budget."""
    for _ in range(state.plan.remeasure):
        rival = state.population.islands[program.island].rival(program)
        if rival is None or state.apart(program, rival):
            break
        for one in (rival, program):
            if state.left() > 0:
                more = state.measured_again(one, judged(f"again/{one.id}/{len(one.measures)}", one.source))
                program = more if one is program else program
    return program


def _measure_winners(state: Progress, judged: Callable[[str, str], Judged], ledger: Ledger, tell: Tell) -> Finding:
    """The best few again, each on fresh seeds and outside the budget: what was luck shows here."""
    for program in state.winners(state.plan.finals):
        before = program.measures
        after = state.measured_again(program, judged(f"final/{program.id}", program.source), count=False)
        state.luck[program.id] = (before, after.measures[len(before) :])
        tell(state, after)
    return Finding.of(state, ledger.replayed)


def dump(model: Any) -> Any:
    """A frozen model as JSON data."""
    return model.model_dump(mode="json")
