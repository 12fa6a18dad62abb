"""How much is lost by choosing from records instead of by an oracle? Leave one case out, over a store.

    python benchmarks/choice.py [--store FOLDER] [--op NAME]

For each measured case (sizes, element type, layout, gradient mode) of each op, the case's own records are hidden, dispatch chooses from
the rest, and the time of its choice is divided by the time of the fastest that was right there: the regret, 1 where both are the same.
Times are compared through speedups over the reference, taken in turns in one run. A pick is *unvalidated* where the case's class holds
no correct record of it, or a wrong one. A case whose class has no other case is counted apart: nothing is left to choose from. So is one of an
implementation that cannot be loaded here: a GPU's rows are judged on such a machine.
"""

import argparse
import math
import sys
import warnings
from collections import defaultdict
from pathlib import Path

from popcorn.dispatch import Measured, PopcornWarning
from popcorn.ops.calls import Call
from popcorn.ops.registry import REFERENCE, find_op, list_ops
from popcorn.records.store import Store, default_store
from popcorn.schema.record import Record
from popcorn.schema.verdict import group
from popcorn.worker.writing import candidate_hash

Key = tuple[str, str]
"""A device and a case's id."""


class Without(Measured):
    """Dispatch that does not know some records."""

    hidden: frozenset[str] = frozenset()

    def _evidence(self, op):
        return [one for one in super()._evidence(op) if one.record not in self.hidden]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="a folder of records; the user's own when left out")
    parser.add_argument("--op", action="append", help="one op; repeat for several")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PopcornWarning)
    store = Store(options.store) if options.store else default_store()
    regrets: list[float] = []
    alone = unvalidated = 0
    for name in options.op or list_ops():
        found, lonely, bad = regrets_of(name, store)
        if found:
            mean, worst = geometric_mean([r for r, _ in found]), max(found)
            print(f"{name:22} {len(found):4} cases  regret {mean:.3f}×  worst {worst[0]:.3f}× at {worst[1]}")
        regrets += [regret for regret, _ in found]
        alone, unvalidated = alone + lonely, unvalidated + bad
    if not regrets:
        print("no op has two measured cases of one class in this store; popcorn bench fill makes some", file=sys.stderr)
        return 0
    print(
        f"all: {len(regrets)} cases, regret {geometric_mean(regrets):.3f}× (geometric mean), worst {max(regrets):.3f}×; {unvalidated} unvalidated picks;"
    )
    print(f"     {alone} cases left out: the only one of their class, or of what cannot be loaded here")
    return int(unvalidated > 0)


def regrets_of(name: str, store: Store) -> tuple[list[tuple[float, str]], int, int]:
    """((regret, case) of every case that has a neighbour, cases that cannot be judged, unvalidated picks)."""
    op = find_op(name)
    current = {one.name: candidate_hash(one.source) for one in op.implementations.values()}
    cases: dict[Key, list[Record]] = defaultdict(list)
    for record in store.find(problem=name, kind="op", condemned=False):
        subject = record.subject
        if subject.problem_hash == op.hash and current.get(subject.implementation) == subject.candidate_hash:
            cases[record.machine.device_id, record.case.id].append(record)
    found, alone, bad = [], 0, 0
    for (device, case_id), records in cases.items():
        first = records[0]
        speedups = {REFERENCE: 1.0}
        for record in records:  # newest first
            if record.measurement.timing is not None:
                speedups.setdefault(record.subject.implementation, record.measurement.timing.speedup.value)
        if len(speedups) < 2:
            continue
        others = [r for (d, c), several in cases.items() if d == device and c != case_id for r in several if like(r, first)]
        if not others or any(op.implementations[each].run is None for each in speedups.keys() & op.implementations.keys()):
            alone += 1
            continue
        chooser = Without(store=store, machine=first.machine)
        chooser.hidden = frozenset(record.id for record in records)
        case = first.case
        call = Call(case.dims, case.precision, first.machine.kind, case.scalars, case.layout, case.gradient == "grad")
        pick = chooser.choose(op, call).name
        bad += pick != REFERENCE and not validated(pick, others, records)
        # what was picked and is not timed here (it failed, or never ran) costs as much as falling back to the reference
        found.append((max(speedups.values()) / speedups.get(pick, 1.0), case_id))
    return found, alone, bad


def like(a: Record, b: Record) -> bool:
    """Of one class."""
    return (a.machine.kind, a.case.precision, a.case.gradient) == (b.machine.kind, b.case.precision, b.case.gradient)


def validated(name: str, others: list[Record], records: list[Record]) -> bool:
    """Shown right in the class by what the chooser could see, and never wrong, in the hidden case neither."""
    shown = {group(record.verdict.outcome) for record in others if record.subject.implementation == name}
    here = {group(record.verdict.outcome) for record in records if record.subject.implementation == name}
    return "correct" in shown and "wrong" not in shown | here


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


if __name__ == "__main__":
    sys.exit(main())
