"""The battery: every sample through the main path on one bench, and whether each came out as it must. Free of torch."""

import copy
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from popcorn.audit.samples import Sample
from popcorn.evaluate import evaluate
from popcorn.records.store import Store
from popcorn.schema.record import Record
from popcorn.suites.problems import find_problem
from popcorn.toolchain.languages import detect_language
from popcorn.worker.bench import Bench
from popcorn.worker.building import build_candidate
from popcorn.worker.lanes import WorkLane
from popcorn.worker.request import Request

BUDGET_S = 0.2
TIMEOUT_S = 5.0
NO_GAIN = 1.1
"""Lower end of a speedup up to which a trick is worth nothing: another process of the reference itself comes out within this."""


@dataclass(frozen=True)
class Answer:
    """What became of one sample."""

    sample: Sample
    record: Record

    @property
    def as_it_must(self) -> bool:
        """An honest one is correct. A cheat ends in one of its outcomes, found by its defence where one must; or it gained nothing."""
        verdict, sample = self.record.verdict, self.sample
        if sample.kind == "honest":
            return verdict.correct
        if sample.no_gain and verdict.correct:
            return self.gained is not None and self.gained <= NO_GAIN
        found = {violation.defence for violation in verdict.violations}
        return verdict.outcome in sample.outcomes and (sample.caught_by is None or sample.caught_by in found)

    @property
    def gained(self) -> float | None:
        """Lower end of the speedup's interval; None where nothing was timed."""
        timing = self.record.measurement.timing
        return timing.speedup.low if timing else None

    def sentence(self) -> str:
        """What happened, short."""
        verdict = self.record.verdict
        speed = f", speedup at least {self.gained:.2f}" if self.gained is not None else ""
        return f"{verdict.outcome}{speed}" + (f": {verdict.reason}" if verdict.reason else "")


def request_of(sample: Sample, device: str = "auto") -> Request:
    """The smallest evaluation that can decide about a sample."""
    source = sample.source
    return Request(
        problem=find_problem(sample.problem_path), source=source, language=detect_language(sample.path, source), name=sample.path.name,
        device=device, gradient="grad" if sample.backward else "none", budget_s=BUDGET_S, timeout_s=TIMEOUT_S, build_timeout_s=120.0, trials=5,
        first_call_timeout_s=TIMEOUT_S if sample.outcomes == {"timeout"} else None,  # no more than this shows that it hangs
        timing=sample.timed or sample.no_gain, compile_baseline=False, counters=False, energy=False, control=False,
        static_gate=False,
    )  # fmt: skip


def run(
    samples: Iterable[Sample],
    bench: Bench,
    store: Store,
    device: str = "auto",
    progress: Callable[[str], None] = lambda _: None,
    answered: Callable[[Answer], None] = lambda _: None,
) -> list[Answer]:
    """Evaluate samples; their records go to `store`, which should not be the user's. Answers in the order of the samples; each is handed to
    `answered` as soon as it is there, from any thread.

    Those that are judged alone go first, as many at once as there are cores and one more, in one turn of the device's queue; what is timed, and what is a
    burden to everybody, has the device for itself, those of one problem one after another: on a GPU its references are kept.
    """
    samples = list(samples)
    found: dict[str, Answer] = {}

    def answer(sample: Sample, on: Bench) -> None:
        progress(f"{len(found)} of {len(samples)} done, {sample.kind} {sample.name}")
        one = found[f"{sample.kind}/{sample.name}"] = Answer(sample, evaluate(request_of(sample, device), on, store))
        answered(one)

    together = [one for one in samples if not (one.timed or one.no_gain or one.alone)]
    if len(together) > 1:
        shared = shared_bench(bench)
        with closing(shared.device_lane), ThreadPoolExecutor(at_once(bench)) as pool:
            # what is timed later is built now, while no core has to be quiet
            built = [
                pool.submit(build_candidate, request_of(one, device), shared) for one in samples if one not in together and needs_build(one)
            ]
            try:
                bench.device_lane.run(lambda: list(pool.map(lambda sample: answer(sample, shared), together)))
                for one in built:
                    one.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C waits for what is under way, and for nothing that has not begun
                raise
    for sample in sorted(samples, key=lambda one: one.problem):
        if f"{sample.kind}/{sample.name}" not in found:
            answer(sample, bench)
    return [found[f"{sample.kind}/{sample.name}"] for sample in samples]


def at_once(bench: Bench) -> int:
    """One more than there are cores for: some of them hang until they are stopped."""
    return max(2, bench.threads) + 1


def needs_build(sample: Sample) -> bool:
    """Whether a compiler has to see it, which takes longer than judging it."""
    return sample.path.suffix != ".py" or "load_inline" in sample.source


def shared_bench(bench: Bench) -> Bench:
    """The same bench for work that nobody times: its device takes several evaluations at once, on any core."""
    shared = copy.copy(bench)
    shared.cores = []
    shared.device_lane = WorkLane("judging", at_once(bench))
    return shared
