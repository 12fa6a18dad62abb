"""Stores for the site's tests: every outcome, every unknown, every extreme; a sweep of three models; a library; a search."""

import json
import math
import random
from pathlib import Path

from popcorn.records.runs import write_run
from popcorn.records.store import Store
from popcorn.schema.case import Case
from popcorn.schema.machine import Machine
from popcorn.schema.measurement import Control, Energy, Interval, Measurement, Memory, Roofline, Timing
from popcorn.schema.record import Record, Subject
from popcorn.schema.run import Run, Tokens, ToolCall, Turn
from popcorn.schema.verdict import OUTCOMES, Verdict
from tests.made_records import identity, make_measurement, make_record, make_samples

HOSTILE = "</script><script>window.hacked = true</script><img src=x onerror='window.hacked = true'>{{ 7 * 7 }}"
EXOTIC = "שלום עולם \u202eevil\u202c 🍿👩‍💻 ﷽ \x07\x1b[31m"
KERNEL = f'''import torch
# {HOSTILE}
# {EXOTIC}
source = """
__global__ void twice(const float* __restrict__ x, float* out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] >= 0.0f) out[i] = 2.0f * x[i];  // </script>
}}
"""


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * 2
'''
REFERENCE = '"""Twice x: (B, D) → (B, D). </script>"""\n\nDOMAIN = "activation"\n\n\nclass Model:\n    def forward(self, x):\n        return x * 2\n'


def timed(time_s: float, speedup: float, spread: float = 0.02, fit: bool = True) -> Timing:
    """A timing with this time and speedup."""
    found = Interval(value=speedup, low=speedup * (1 - spread), high=speedup * (1 + spread))
    return Timing(
        candidate=make_samples(time_s, 6), baseline=make_samples(speedup * time_s, 6), speedup=found, compiled=make_samples(1.25 * time_s),
        speedup_compiled=Interval(value=1.25, low=1.2, high=1.3), comparison="faster" if speedup > 1 else "slower", method="cuda events, 3 launches",
        stopped_by="interval", parent_time_s=time_s * 1.1,
        control=Control(aa=Interval(value=1.0, low=0.99, high=1.01), planted=Interval(value=1.05, low=1.04, high=1.06), noise=0.01, fit=fit),
    )  # fmt: skip


def measured(time_s: float, speedup: float, sol: float | None, energy: float | None = None, fit: bool = True) -> Measurement:
    """Everything else about it."""
    whole = make_measurement(timed(time_s, speedup, fit=fit))
    roof = whole.roofline.model_copy(update={"sol": sol, "sol_source": "model" if sol is not None else None, "sol_model": sol})
    joules = (
        Energy(energy_j=1e-3, baseline_energy_j=2e-3, ratio=energy, source="nvml")
        if energy
        else Energy(reason="the call is too short for the counter")
    )
    return whole.model_copy(update={"roofline": roof, "energy": joules})


def evaluation(problem: str, outcome: str, day: int, **changes) -> Record:
    """A record of a problem."""
    made = f"2025-11-{1 + day % 28:02d}T{day // 28 % 24:02d}:{day // 672 % 60:02d}:00.000000+00:00"
    name = changes.pop("name", "kernel.cu")
    subject = Subject(problem=problem, problem_hash="0123456789abcdef", implementation="candidate", candidate_hash=identity(problem, day),
                      language=changes.pop("language", "cuda"), name=name, source=changes.pop("source", KERNEL), reference=REFERENCE)  # fmt: skip
    return make_record(outcome, made, id=identity(problem, outcome, day, name), subject=subject, **changes)


def extremes() -> list[Record]:
    """Every outcome, then what stretches a page."""
    found = [evaluation("original/L1/36", outcome, day, name=f"{outcome}.cu") for day, outcome in enumerate(OUTCOMES)]
    nothing = Measurement(
        timing=timed(9.6e-6, 2.0).model_copy(update={"compiled": None, "speedup_compiled": None, "compiled_reason": "torch.compile failed"})
    )
    found += [
        evaluation("original/L1/36", "correct", 20, name="unknown.cu", measurement=nothing, source=None),
        evaluation("original/L1/36", "correct", 21, name="instant.cu", measurement=measured(1e-9, 1e6, 1.0)),
        evaluation("original/L1/36", "correct", 21, name="other_text.cu", source=KERNEL.replace("2.0f", "3.0f")),
        evaluation("original/L1/36", "correct", 22, name="endless.cu", measurement=measured(86_400.0, 1e-6, 0.0)),
        evaluation("original/L1/36", "correct", 23, name="unfit.cu", measurement=measured(1e-4, 1.5, 0.3, fit=False)),
        evaluation("original/L1/36", "correct", 24, name=f"{EXOTIC}{HOSTILE}"),
        evaluation("original/L1/36", "correct", 25, name="untimed.cu", measurement=Measurement()),
        evaluation("/elsewhere/<b>mine</b>.py", "wrong_values", 26, verdict=Verdict(outcome="wrong_values", reason=f"{HOSTILE} {EXOTIC} " + "long " * 400)),
        evaluation("original/L1/36", "correct", 27, name="condemned.cu", measurement=measured(1e-6, 90.0, 0.99)),
    ]  # fmt: skip
    return found


def sweep(problems: int = 6, seed: int = 1) -> tuple[list[Record], list[Run]]:
    """Three models, three tiers, four levels, two variants, with searches on some."""
    chance = random.Random(seed)
    records, runs = [], []
    skills = {"aster-2": (0.85, 1.9), "borealis-large": (0.7, 1.5), "cirrus-mini": (0.45, 1.15)}
    tiers = {"single": 0.7, "default": 1.0, "all": 1.1}
    day = 100
    for variant in ("popcorn", "original"):
        for level in (1, 2, 3, 4):
            for number in range(1, problems + 1):
                asked = [
                    (model, tier, skill * gain / (0.75 + level / 4), gain_speed)
                    for model, (skill, gain_speed) in skills.items()
                    for tier, gain in tiers.items()
                ]
                asked += [("evolve", "search", 0.95, 2.4)] if number in (1, 2, 10) else []
                for model, tier, chance_of, typical in asked:
                    day += 1
                    problem = f"{variant}/L{level}/{number}"
                    good = chance.random() < chance_of
                    outcome = (
                        "correct"
                        if good
                        else chance.choice(["wrong_values", "compile_error", "timeout", "runtime_error", "cheated", "wrong_shape"])
                    )
                    speedup = math.exp(chance.gauss(math.log(typical), 0.5))
                    measurement = measured(chance.uniform(5e-6, 2e-3), speedup, min(0.97, max(0.02, chance.gauss(0.35 + 0.12 * math.log(speedup), 0.15))), chance.uniform(0.3, 1.2) if level >= 3 else None)  # fmt: skip
                    record = evaluation(problem, outcome, day, name=f"{model}.py", **({"measurement": measurement} if good else {}))
                    run = make_run(
                        f"l{level}-{variant}-{number}-{model}-{tier}",
                        problem,
                        model,
                        tier,
                        record,
                        turns=1 if tier == "single" else chance.randint(2, 8),
                    )
                    records.append(record)
                    runs.append(run)
    runs.append(make_run("no-kernel", "popcorn/L1/1", "cirrus-mini", "default", None, ended_by="turns"))
    runs.append(make_run("at-work", "popcorn/L1/1", "cirrus-mini", "default", None, ended_by=None))
    return records, runs


def make_run(
    name: str, problem: str, model: str, tier: str, record: Record | None, turns: int = 4, ended_by: str | None = "submit", text: str = ""
) -> Run:
    """A run whose last turn submits."""
    made = []
    for index in range(1, turns + 1):
        last = index == turns
        tool = "submit_kernel" if last and record else ("compile_kernel", "run_correctness", "profile_kernel")[index % 3]
        kernel = KERNEL.replace("2.0f", f"{index}.0f")
        call = ToolCall(tool=tool, arguments={"kernel_code": kernel, "note": HOSTILE}, result=f"{tool} said {HOSTILE} {EXOTIC}", ok=index % 4 != 2, error="timeout" if index % 4 == 2 else None,
                        wall_s=12.5, queue_s=2.5, run_s=10.0)  # fmt: skip
        made.append(
            Turn(index=index, started="2025-11-29T10:00:00Z", wall_s=21.0 + index, llm_s=7.3, tool_s=12.5, queue_s=2.5, cost_usd=0.012, final=last,
                 tokens=Tokens(input=1925 * index, output=492, total=1925 * index + 492), reasoning=text or f"Turn {index}: fuse the loop. {HOSTILE}", text=EXOTIC, calls=(call,))
        )  # fmt: skip
    return Run(
        id=name, problem=problem, model=model, tier=tier, language="cuda", precision="float32", max_turns=15, max_tool_calls=20, turns=tuple(made), tool_calls=len(made),
        tokens=Tokens(input=9000, cached=4000, output=4114, reasoning=1200, total=13_114), cost_usd=0.042, wall_s=845.5, truncated=turns > 20, ended_by=ended_by, prompt=f"Write a kernel. {HOSTILE}\n" * 3,  # type: ignore[arg-type]
        reference=REFERENCE, candidate=KERNEL if record else None, record_id=record.id if record else None, started=f"2025-11-29T10:{len(name) % 60:02d}:00Z", harness="0.1.0",
    )  # fmt: skip


def library(op: str = "rms_norm", versions: tuple[str, ...] = ("2.11.0+cu130",)) -> list[Record]:
    """Two curves, some coverage, two devices, failures; for each torch version."""
    devices = (
        Machine(device_id="nvidia-h200-sxm", device_name="NVIDIA H200", kind="cuda", torch=versions[0]), Machine(device_id="cpu-amd-epyc-2c", device_name="AMD EPYC", kind="cpu", torch=versions[0])
    )  # fmt: skip
    found = []
    for machine in devices:
        slow = 1.0 if machine.kind == "cuda" else 90.0
        for torch in versions:
            for rows, width, precision, layout in [
                *((r, 4096, p, "contiguous") for r in (1, 16, 128, 512, 2048, 8192, 32768) for p in ("float32", "bfloat16")),
                *((4096, d, "bfloat16", "contiguous") for d in (128, 512, 2048, 4096, 8192)), (7, 129, "float32", "sliced"), (64, 768, "bfloat16", "transposed"),
            ]:  # fmt: skip
                moved = 2.0 * rows * width * (4 if precision == "float32" else 2)
                for name, gain in (("popcorn", 3.1), ("liger", 2.4)):
                    time_s = slow * (3e-6 + moved / (3.6e12 * gain / 3.3))
                    speedup = gain * (0.6 if rows < 100 else 1.0)
                    outcome = (
                        "out_of_memory"
                        if rows == 32768 and name == "liger" and precision == "float32"
                        else "rejected"
                        if layout == "sliced" and name == "liger"
                        else "correct"
                    )
                    whole = measured(time_s, speedup, min(0.95, moved / 4.6e12 * slow / time_s))
                    roof = Roofline(
                        sol=whole.roofline.sol, sol_source="model", min_bytes=moved, flops=4.0 * rows * width, bandwidth_bytes_per_s=moved / time_s, flop_per_s=4.0 * rows * width / time_s,
                        peak_bandwidth_bytes_per_s=4.6e12 / slow, peak_flop_per_s=6e13 / slow,
                    )  # fmt: skip
                    measurement = whole.model_copy(
                        update={"roofline": roof, "memory": Memory(peak_bytes=int(moved / 2), baseline_peak_bytes=int(moved), ratio=0.5)}
                    )
                    case = Case(dims={"R": rows, "D": width}, precision=precision, layout=layout, scalars={"eps": 1e-6})
                    subject = Subject(problem=op, problem_hash="f" * 16, implementation=name, language="cpp")
                    verdict = Verdict(
                        outcome=outcome, reason=None if outcome == "correct" else f"{name} needs more than there is {HOSTILE}"
                    )
                    found.append(make_record(
                        outcome, "2025-11-20T10:00:00.000000+00:00", id=identity(op, name, case.id, machine.id, torch), kind="op", subject=subject, case=case, verdict=verdict,
                        machine=machine.model_copy(update={"torch": torch}), measurement=measurement if outcome == "correct" else Measurement(),
                    ))  # fmt: skip
    return found


def write_search(folder: Path, evaluations: int = 120, seed: int = 3, record_id: str | None = None) -> None:
    """An evolution with two axes; some lines say NaN, one is torn."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "search.json").write_text(
        json.dumps(
            {
                "problem": "popcorn/L1/1",
                "model": "aster-2",
                "method": f"MAP-Elites {HOSTILE}",
                "started": "2025-11-29T10:00:00Z",
                "axes": ["memory pattern", "parallelism"],
            }
        )
    )
    rows: list[dict] = []
    for n in range(1, evaluations + 1):
        parent = (
            max(
                chance.sample(rows, min(4, len(rows))),
                key=lambda row: row["speedup"] if isinstance(row["speedup"], float) and row["speedup"] == row["speedup"] else 0.0,
            )
            if rows
            else None
        )
        good = chance.random() < 0.7
        speedup = max(0.2, (parent["speedup"] or 0.8 if parent else 0.8) + chance.gauss(0.03, 0.18)) if good else None
        rows.append({"id": f"c{n}", "parents": [parent["id"]] if parent else [], "evaluation": n, "generation": n // 10, "island": n % 3, "operator": chance.choice(["mutate", "cross", "template"]) if parent else "seed",
                     "outcome": "correct" if good else "compile_error", "speedup": speedup, "cell": [chance.randint(0, 4), chance.randint(0, 3)], "prompt": f"p{n // 40}", "cost_usd": n * 0.031,
                     "record_id": record_id if n == 5 else None})  # fmt: skip
    rows[7]["speedup"] = float("nan")
    lines = [json.dumps(row) for row in rows]
    (folder / "candidates.jsonl").write_text("\n".join([*lines, '{"id": "torn']) + "\n")
    prompts = [
        {
            "id": f"p{n}",
            "parent": f"p{n - 1}" if n else None,
            "text": f"Improve the kernel. {HOSTILE} {EXOTIC}",
            "uses": 40,
            "best": 1.5 + n,
        }
        for n in range(3)
    ]
    (folder / "prompts.jsonl").write_text("\n".join(map(json.dumps, prompts)))


def fill(folder: Path, problems: int = 6) -> Store:
    """Everything of the above in `folder/records`, `folder/runs`, `folder/searches`."""
    store = Store(folder / "records")
    records, runs = sweep(problems)
    odd = extremes()
    store.extend([*odd, *records, *library(versions=("2.11.0+cu130", "2.10.0+cu128")), *library("softmax")[:4]])
    store.ledger.judge(odd[-1].id, "condemned", f"it replays a file {HOSTILE}")
    store.ledger.judge(odd[0].id, "suspected", "its times are odd")
    for run in runs:
        write_run(run, folder / "runs" / "l12_default")
    long = make_run("long", "original/L1/36", "aster-2", "default", odd[0], turns=500)
    write_run(long, folder / "runs")
    write_run(
        make_run("talkative", "original/L1/36", "borealis-large", "all", odd[1], turns=2, text="thinking </script> 🍿 " * 90_000),
        folder / "runs",
    )
    write_search(folder / "searches" / "ae-1", record_id=records[0].id)
    return store
