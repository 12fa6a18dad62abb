"""adopt: a kernel that was found becomes an implementation of an op. Judged in the sandbox first, then written, measured, dispatched.

1. the op's case plan, forward and with gradients, in the sandbox, as any candidate: what does it take?  (assumptions.py)
2. its file, with what it takes and whence it came                                                     (implementing.py)
3. every case that it takes, as the library's own rows are measured; a row that is not correct undoes the adoption
4. the chooser is asked at every measured case: is it the fastest there?

From step 2 on its text runs in the user's own processes: adopting is installing. Needs torch to run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.bench import shared_bench
from popcorn.bench.asking import Settings, call_of
from popcorn.bench.fill import fill, plan_rows
from popcorn.cases import general, plan_cases, sample
from popcorn.dispatch import CHOOSER
from popcorn.errors import BadSearch
from popcorn.evaluate import evaluate
from popcorn.ops.implementation import adopted_folder
from popcorn.ops.judged import problem_of
from popcorn.ops.registry import Op, find_op, list_ops
from popcorn.records.store import Store
from popcorn.schema.case import Case
from popcorn.schema.record import Record
from popcorn.search.assumptions import Assumptions, find_assumptions
from popcorn.search.implementing import implementation_name, write_implementation
from popcorn.search.judging import judged_of
from popcorn.search.program import Judged
from popcorn.search.winners import Winner
from popcorn.suites.problems import find_problem
from popcorn.toolchain.languages import SUFFIX, is_python
from popcorn.worker.request import Request

_OURS = ("harness_error", "invalid_reference")


@dataclass
class Adoption:
    """What became of it."""

    op: str
    name: str
    files: list[Path] = field(default_factory=list)
    assumptions: Assumptions = field(default_factory=Assumptions)
    records: list[Record] = field(default_factory=list)
    """Rows of the library."""
    chosen: list[str] = field(default_factory=list)
    """Cases at which dispatch now takes it."""
    refusal: str | None = None
    """Why it is no implementation; nothing of it is left then."""


def adopt(
    winner: Winner,
    store: Store,
    *,
    op: str | None = None,
    name: str | None = None,
    into: Path | None = None,
    limit: int | None = None,
    settings: Settings | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Adoption:
    """Carry it out. Raises BadSearch where no op is meant or a file is in the way; a kernel that is refused is an Adoption with its reason."""
    settings = settings or Settings()
    found = find_op(op or op_of(winner))
    made = Adoption(found.name, implementation_name(winner, name))
    device = shared_bench(settings.device).machine.kind
    folder = _folder(into, found)
    if (folder / f"impl_{made.name}.py").exists() or made.name in found.implementations:
        raise BadSearch(f"{found.name} has an implementation {made.name} already; choose another name with --name, or remove it first.")
    made.assumptions = find_assumptions(
        cases_of(found, settings, limit), _examiner(winner, found, store, settings, tell), _innermost(found)
    )
    if made.assumptions.refusal is not None:
        made.refusal = made.assumptions.refusal
        return made
    made.files = write_implementation(folder, found.name, made.name, winner, made.assumptions, device)
    try:
        _measure(found, made, store, settings, limit, folder, tell)
    except BaseException:
        _undo(found, made)
        raise
    if made.refusal is not None:
        _undo(found, made)
    return made


def op_of(winner: Winner) -> str:
    """The op whose name the problem has. Raises BadSearch where there is none."""
    problem = find_problem(winner.problem).name if winner.problem and "/" in winner.problem else winner.problem
    if problem in list_ops():
        return str(problem)
    raise BadSearch(f"{winner.problem or 'this kernel'} names no op of the library; say which with --op, one of {', '.join(list_ops())}.")


def cases_of(op: Op, settings: Settings, limit: int | None) -> list[Case]:
    """The op's whole plan for this machine, contiguous, smaller first, each once. Of a `limit` there is at least one of each element type: which of
    them a kernel takes is the first thing to know."""
    machine = shared_bench(settings.device).machine
    planned = plan_cases(
        op.plan or general(op.signature.dims), op.min_bytes, ("float32", "bfloat16"), ("none", "grad") if op.differentiable else ("none",),
        op.signature.scalars, machine.memory_bytes if machine.kind == "cuda" else min(machine.memory_bytes or 4 << 30, 4_000_000_000),
    )  # fmt: skip
    once = {case.id: one for one in planned if (case := one.case.model_copy(update={"layout": "contiguous"}))}
    kept = sample(once.values(), limit)
    forward = {one.case.precision: one for one in reversed(once.values()) if one.case.gradient == "none"}
    seen = {one.case.precision for one in kept if one.case.gradient == "none"}
    wanted = {id(one) for one in [*kept, *(one for precision, one in forward.items() if precision not in seen)]}
    return [one.case.model_copy(update={"layout": "contiguous"}) for one in once.values() if id(one) in wanted]


def _examiner(
    winner: Winner, op: Op, store: Store, settings: Settings, tell: Callable[[str], None]
) -> Callable[[Case, Mapping[str, int]], Judged]:
    python = winner.language not in ("c", "sycl") and is_python("kernel", winner.source)
    name = "kernel.py" if python else f"kernel{SUFFIX[winner.language]}"

    def examine(case: Case, multiples: Mapping[str, int]) -> Judged:
        request = Request(
            problem=problem_of(op, case, multiples, candidate=True), source=winner.source, language=winner.language, name=name,
            precision=case.precision, gradient=case.gradient, scalars=case.scalars, device=settings.device, timeout_s=settings.timeout_s,
            trials=settings.trials, timing=False, energy=False, counters=False, control=False, compile_baseline=False,
        )  # fmt: skip
        judged = judged_of(evaluate(request, shared_bench(settings.device), store))
        sizes = "".join(f", sizes of {name} in multiples of {step}" for name, step in multiples.items())
        tell(f"judged {case.id}{sizes}: {judged.outcome}" + (f" ({judged.reason[:120]})" if judged.reason else ""))
        return judged

    return examine


def _measure(
    op: Op, made: Adoption, store: Store, settings: Settings, limit: int | None, folder: Path, tell: Callable[[str], None]
) -> None:
    op.reload()
    if made.name not in op.implementations:
        if folder != adopted_folder(op.name):
            tell(f"written into {folder}; it is measured where that checkout is installed: popcorn bench fill {op.name}")
            return
        raise BadSearch(f"{folder} was written and {op.name} does not see it; is POPCORN_CACHE_DIR the same everywhere?")
    one = op.implementations[made.name]
    if one.run is None:
        answer: Any = one.accepts(call_of(Case(), "cpu"))
        made.refusal = f"its file does not load: {getattr(answer, 'reason', '')}"
        return
    machine = shared_bench(settings.device).machine
    rows = plan_rows([op], machine, [made.name], limit=limit, precisions=made.assumptions.precisions)  # type: ignore[arg-type]
    for row in rows:
        record = next(iter(fill([row], store, settings, tell=tell)), None)
        if record is None:
            continue  # pruned, or known from before
        # a finding of a cheat ends it: whoever may try until a check looks away gets in
        if not record.verdict.correct and record.verdict.outcome not in (*_OURS, "cheated"):
            tell("once more: on a busy machine a deadline can fail an honest kernel")
            record = next(iter(fill([row], store, settings, force=True, tell=tell)), record)
        made.records.append(record)
        if not record.verdict.correct and record.verdict.outcome not in _OURS:
            made.refusal = f"as an implementation it is {record.verdict.outcome} at {record.case.id}: {record.verdict.reason}"
            return
    made.chosen = chosen_at(op, made.name, [record.case for record in made.records], machine.kind)


def chosen_at(op: Op, name: str, cases: Sequence[Case], device: str) -> list[str]:
    """Cases at which the measured chooser takes this implementation."""
    return [case.id for case in cases if CHOOSER.choose(op, call_of(case, device)).name == name]


def _undo(op: Op, made: Adoption) -> None:
    for path in made.files:
        path.unlink(missing_ok=True)
    made.files = []
    op.reload()


def _folder(into: Path | None, op: Op) -> Path:
    """The user's own folder, or the op's folder in a checkout. Raises BadSearch for a place that has no such op."""
    if into is None:
        return adopted_folder(op.name)
    folder = into / "popcorn" / "ops" / "library" / op.name
    if not folder.is_dir():
        raise BadSearch(f"{into} holds no {folder.relative_to(into)}; expected a checkout of Popcorn.")
    return folder


def _innermost(op: Op) -> str | None:
    """The last size of the first input, the one that vectors run along."""
    size = op.signature.inputs[0].sizes[-1] if op.signature.inputs and op.signature.inputs[0].sizes else None
    return None if size in (None, "...") or str(size).isdigit() else size
