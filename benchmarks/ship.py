"""The records that ship: measure what is worth most in a given time, keep what a release may hold, say what was lost by choosing from it.

    python benchmarks/ship.py measure --device cpu --seconds 1140 --to FOLDER     a quiet machine; the same command goes on where it stopped
    python benchmarks/ship.py measure --device cuda --seconds 440 --to FOLDER     every GPU that is visible takes a share of the ops
    python benchmarks/ship.py pack FOLDER [FOLDER …] [--to popcorn/reports]       <device>.parquet; needs DuckDB, no GPU

Cases come from the production and long-context curves, half forward, half with gradients, from small to large; ops take turns, so that an early
end leaves out the large ones; on a CPU our own kernels come first, then torch.compile, which has no rows on a GPU: one takes as long as five of ours. torch itself has no rows: each row holds its time. Rows whose controls did not pass are measured once more, with twice
the time, and left out where they do not pass then either. Exit code 1 where there is nothing to ship, or a check of the release fails.
"""

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.choice import geometric_mean, regrets_of  # noqa: E402
from popcorn.bench.checking import check, counted, shippable  # noqa: E402
from popcorn.bench.fill import Progress, doubtful, fill, plan_rows  # noqa: E402
from popcorn.dispatch import PopcornWarning  # noqa: E402
from popcorn.records.store import Store  # noqa: E402
from popcorn.schema.record import Record  # noqa: E402

ORDER = {
    "cpu": (
        "rms_norm", "softmax", "swiglu", "cross_entropy", "layer_norm", "rope", "geglu", "add_rms_norm", "gelu", "logsumexp", "l2_norm", "kl_div",
        "selective_log_softmax", "jsd", "rotary_embedding", "top_k_router", "causal_conv1d", "moe_combine", "int8_matmul",
    ),
    "cuda": (
        "rms_norm", "softmax", "swiglu", "cross_entropy", "layer_norm", "attn", "rope", "geglu", "add_rms_norm", "gelu", "logsumexp", "l2_norm",
        "kl_div", "linear_cross_entropy", "causal_conv1d", "attn_decode", "rotary_embedding", "embedding", "selective_log_softmax", "top_k_router",
        "moe_dispatch", "moe_combine", "grouped_matmul", "jsd",
    ),
}  # fmt: skip
"""By worth: what a training step calls most, first."""

SETTINGS: dict[str, dict[str, Any]] = {
    "cpu": {"precision": "float32", "names": ("popcorn", "inductor"), "largest_bytes": 64e6, "budget_s": 5.0, "row_s": 16.0},
    "cuda": {
        "precision": "bfloat16",
        "names": ("triton", "cudnn"),
        "largest_bytes": 2e9,
        "budget_s": 0.5,
        "row_s": 10.0,
    },
}
"""`row_s` is a guess from which the number of cases follows; the clock ends the run."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("measure", "share"):
        measuring = commands.add_parser(name)
        measuring.add_argument("--device", required=True, help="cpu, or cuda for every visible GPU")
        measuring.add_argument("--seconds", type=float, required=True, help="no row is begun later; one takes 5 to 20 s")
        measuring.add_argument("--to", type=Path, required=True, help="a folder for stores and caches")
        measuring.add_argument("--ops", nargs="+", help="in place of those of the plan")
        measuring.add_argument("--limit", type=int, help="cases of each op, in place of what fits the time")
    packing = commands.add_parser("pack")
    packing.add_argument("folders", nargs="+", type=Path)
    packing.add_argument("--to", type=Path, default=ROOT / "popcorn" / "reports")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", PopcornWarning)
    # what this user adopted is theirs, and no part of what ships
    with TemporaryDirectory(prefix="popcorn-ship-") as cache:  # builds, too: nothing that anybody wants to bring home
        os.environ["POPCORN_CACHE_DIR"] = cache
        return {"measure": measure, "share": share, "pack": pack}[asked.command](asked)


def measure(asked: argparse.Namespace) -> int:
    """A share for each device, at once on several GPUs; then what came of it."""
    from popcorn.devices.probe import devices

    began, kind = time.monotonic(), asked.device.partition(":")[0]
    places = [name for name in devices() if name.startswith("cuda")] if asked.device == "cuda" else [asked.device]
    if not places:
        raise SystemExit("there is no GPU here: nvidia-smi shows why; --device cpu measures this machine's processor")
    wanted = asked.ops or ORDER[kind]
    if not asked.ops and kind == "cuda":
        wanted = wanted[: max(4, 5 * len(places))]
    rows = len(places) * asked.seconds / SETTINGS[kind]["row_s"]
    limit = asked.limit or max(4, min(12, int(rows / len(wanted) / 2) // 2 * 2))
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load {os.getloadavg()[0]:.1f}; {len(wanted)} ops, {limit} cases each, {asked.seconds:g} s, {', '.join(places)}", flush=True)  # fmt: skip
    running = []
    for number, device in enumerate(places):
        mine = wanted[number :: len(places)]
        if not mine:
            continue
        own = asked.to / device.replace(":", "-")
        own.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(Path(__file__)), "share", "--device", device, "--seconds", str(asked.seconds), "--to", str(own),
                   "--limit", str(limit), "--ops", *mine]  # fmt: skip
        running.append(subprocess.Popen(command))
    failed = [code for code in (one.wait() for one in running) if code]
    records = read([asked.to])
    print(f"measured in {time.monotonic() - began:.0f} s; {len(failed)} of {len(running)} shares failed")
    tell(records)
    return int(bool(failed) or not records)


def share(asked: argparse.Namespace) -> int:
    """One device's rows, into a store of its own."""
    from popcorn.bench import shared_bench
    from popcorn.bench.asking import Settings
    from popcorn.ops.registry import find_op

    plan = SETTINGS[asked.device.partition(":")[0]]
    progress, store = Progress(), Store(asked.to / "records")
    settings = Settings(device=asked.device, budget_s=plan["budget_s"])
    rows = plan_rows(
        [find_op(name) for name in asked.ops], shared_bench(asked.device).machine, plan["names"], None, asked.limit, (plan["precision"],), True,
        progress, plan["largest_bytes"],
    )  # fmt: skip
    if asked.device == "cpu":
        # torch.compile's rows take three times as long: between them there was time for one case of each class, and so nothing to choose by
        rows.sort(key=lambda row: plan["names"].index(row.implementation))
    began = time.monotonic()
    # a quarter of the time is for second looks
    for within, again in ((0.75 * asked.seconds, 0), (asked.seconds, 1)):
        for record in fill(rows, store, settings, progress=progress, within_s=within - (time.monotonic() - began), again=again):
            timing = record.measurement.timing
            told = f"{timing.speedup.value:.3f}×{'' if timing.control.fit else ' unfit'}" if timing else record.verdict.reason
            print(f"{time.monotonic() - began:6.0f} s  {record.subject.problem} {record.subject.implementation} {record.case.id}: {record.verdict.outcome} {told}", flush=True)  # fmt: skip
    return 0


def pack(asked: argparse.Namespace) -> int:
    """What may ship of these folders, a file a device, checked again as it was read back."""
    from popcorn.records.exporting import read_parquet
    from popcorn.records.tables import write_table

    kept, out = shippable(read(asked.folders))
    for rule, count in sorted(out.items()):
        print(f"left out: {count} rows that break “{rule}”")
    devices: dict[str, list[Record]] = defaultdict(list)
    for record in kept:
        devices[record.machine.device_id].append(record)
    wrong = 0
    for device, records in sorted(devices.items()):
        path = asked.to / f"{device}.parquet"
        write_table(sorted(records, key=lambda one: (one.subject.problem, one.subject.implementation, one.case.id)), path)
        again = list(read_parquet(path))
        found = counted(check(again, release=True))
        wrong += sum(found.values()) + (len(again) != len(records))
        machine = records[0].machine
        print(
            f"{path.name}: {len(again)} rows, {path.stat().st_size / 1e6:.2f} MB; torch {machine.torch}, driver {machine.driver}; {dict(found) or 'fit to ship'}"
        )
        tell(again)
    return int(bool(wrong) or not kept)


def read(folders: list[Path]) -> list[Record]:
    """Every record below these folders, each once."""
    stores = sorted({path.parent.parent for folder in folders for path in folder.rglob("*.jsonl") if path.parent.parent.name == "records"})
    return list({record.id: record for store in stores for record in Store(store)}.values())


def tell(records: list[Record]) -> None:
    """A line an op and implementation, then the regret of choosing from these rows with each case left out in turn."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        groups[record.subject.problem, record.subject.implementation].append(record)
    for (op, name), several in sorted(groups.items()):
        speeds = [one.measurement.timing.speedup.value for one in several if one.measurement.timing]
        mean = f"{geometric_mean(speeds):.2f}× torch, {min(speeds):.2f} to {max(speeds):.2f}" if speeds else "not timed"
        wrong = [one.verdict.outcome for one in several if not one.verdict.correct]
        print(f"  {op:22} {name:10} {len(several):3} rows, {sum(map(doubtful, several))} unfit  {mean}  {', '.join(wrong)}")
    with TemporaryDirectory() as folder:
        store = Store(Path(folder) / "records")
        store.extend(records)
        all_of_them = [regrets_of(op, store) for op in sorted({op for op, _ in groups})]
    regrets = [one for found, _, _ in all_of_them for one in found]
    if regrets:
        worst = max(regrets)
        print(f"  leave one case out: regret {geometric_mean([r for r, _ in regrets]):.4f}× over {len(regrets)} cases, worst {worst[0]:.3f}× at {worst[1]}; "
              f"{sum(bad for _, _, bad in all_of_them)} unvalidated picks; {sum(alone for _, alone, _ in all_of_them)} cases alone in their class")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
