"""docs/suites.md: what the suites hold, counted from the problems themselves. Imports without torch."""

import functools
from collections import Counter
from collections.abc import Sequence

from popcorn.devices.specs import SPECS
from popcorn.suites.costs import declared_costs, settings
from popcorn.suites.importing.formats import FORMATS
from popcorn.suites.problems import VARIANTS, Problem, facts, list_problems

DEVICE = "nvidia-h200-sxm"
ITEMSIZE = {"float32": 4, "bfloat16": 2}
LATENCY_S = 5e-6
"""A bound below this is mostly waiting."""

HEAD = """# Suites

What ships, counted from the problems. Made by `python -m popcorn.cli.docs`; a test keeps it true. `popcorn` problems draw their sizes for every
trial and never show the exact ones; `original` problems have fixed sizes. Each file declares its domain, least bytes and flops, sizes for
machines with and without a GPU, and whether gradients are judged; `popcorn problems check --all` holds it to that.
"""

COMMUNICATION = """## Communication

{count} problems run on two or more real processes, over NCCL on GPUs and Gloo on CPUs: {ids}. `popcorn eval ID FILE` judges a candidate
on every GPU of the machine, or on two processes, and leaves a record like any other; `popcorn ranks ID FILE --world 4` says how many, and
`popcorn ranks ID` examines a problem. A candidate's `forward` is given the process group last. A round is a group of the reference, one of the
candidate and one of the reference again (the A/A control), all of fresh processes with other values and sizes; times are those of rows of calls by
the parent's clock. On a CPU the candidate's ranks are fenced like any candidate, once they have met: no further socket can be opened. On GPUs they
are not, since NCCL opens sockets and shared memory as it goes, and the record says so. Where fewer GPUs exist the candidate is rejected with the
reason and exit code 40; it is never run on one process. The virtual-rank problems (domain `distributed`) have ranks as a
dimension of one tensor and run anywhere.

"""

FOREIGN = """## Suites of others

`popcorn problems import FORMAT PATH` reads a folder, unmodified; `auto` finds the format.

{formats}

- Every file is tried in a process of its own behind a fence, with limits on time and memory. The table it prints says for each what was done to
  make it run, or why it cannot: an undefined name with its line, a wrong number of arguments, an output that is no tensor, too little memory.
- A PopcornBench file draws its sizes anew for every tensor. Here a size is drawn once a trial; where a file runs only because of that, the table
  says at how many seeds it fails by itself. Integer inputs stay integers.
- What a file seeds itself (`torch.manual_seed(42)` in `get_inputs`, generators of torch, numpy and Python) follows the trial's seed, or an answer that was kept
  would pass. A file whose inputs or weights do not repeat under a seed judges nobody, nor does one where the answer of an earlier trial is right, too.
- What runs has an id (`kernelbench/L1/23`) for `eval`, `problems list --suite`, `show` and `check`. A suite's version is the hash of its texts:
  `kernelbench@3fa9c2/L1/23` names an older one, and a record keeps the hash of the text it was judged by.
- A task of GPU MODE takes submissions as they are: `popcorn eval gpu_mode/vectoradd submission.py` with `custom_kernel(data)`. Where its reference
  writes into memory that it was handed, each call finds fresh memory there. Its own `check_implementation` is not run: what it allows is wider than
  rounding. Where it would take another answer than the reference's (a QR of other signs), the table says so, and such an answer is wrong here.
- A challenge of LeetGPU takes `solve(…)` in Python as it is: `popcorn eval leetgpu/easy/vector_add submission.py`; each call finds zeros where it writes.
  Assertions in its reference are left out: they forbid float64 and the CPU. Of Tensara the problems are read; a `solution(…)` becomes a ModelNew by hand.
- A file that says `device="cuda"` is judged without a GPU, too: its inputs and weights are then made on the CPU.
- What has `Model` and `get_inputs` is taken as `kernelbench`, whatever its folders: MultiKernelBench, KernelBench-Hard (`reference.py`), Sakana's archive
  (`module_fn`), rows of KernelBook (`entry_point` names the class). Where no class is called Model, the only module that no other class of the file uses
  is it; rows may lie in tables by level, under their names or in conversations. Of files that list groups of inputs (`get_input_groups`, `get_inputs_dyn_list`)
  a trial draws one (of more than 64 as many, evenly spread); the last is timed, without a GPU the first. JSON that lies beside such a file is kept with it.
- A reference that rounds to half precision inside is held to a truth that does not, and the record says so. Which element type a problem has is
  `--precision`'s to say; `check` and `import` try a file at that of its own inputs.
- Known and not importable, each with its reason when `auto` meets it: ComputeEval, ParEval, BackendBench, TritonBench (both of that name), KernelBench-X,
  ParallelKernelBench, NPUKernelBench, CUDA-L1 (whose texts are candidates).
- Anything else becomes a problem as two files, imported with `popcorn problems import cases FOLDER`: `reference.py` with a function `reference(x, scale)` in
  torch, and `cases.toml` with the shapes of its arguments and the sizes of each case:

      [inputs]
      x = ["B", "D"]                              # floats; {{ shape = ["B"], dtype = "int64" }} for others
      scale = "scalar"
      [[cases]]
      B = 64
      D = 1000
      scale = 0.5

- `popcorn problems export ID FOLDER` writes a problem as definition, workloads and, with `--records`, solutions and traces.
"""


def suites_page() -> str:
    """The page."""
    problems = list_problems()
    talking = [one for one in problems if facts(one).ranks is not None]
    formats = "\n".join(f"- `{name}`: {one.summary}" for name, one in FORMATS.items())
    parts = [
        HEAD,
        _levels(problems),
        _domains(problems),
        COMMUNICATION.format(count=len(talking), ids=_ids(talking)),
        FOREIGN.format(formats=formats),
    ]
    return "\n".join(parts)


@functools.cache
def bound_kind(problem: Problem, precision: str) -> str:
    """`latency`, `memory` or `compute`: what bounds the problem on the device of the table, by its declared bytes and flops."""
    spec = next(one for one in SPECS if one.id == DEVICE)
    sizes = {name: int(dim) for name, dim in facts(problem).dims.items()}
    moved, done = declared_costs(problem, sizes, ITEMSIZE[precision])
    assert moved and done and spec.bandwidth_bytes_per_s
    memory_s, compute_s = moved / spec.bandwidth_bytes_per_s, done / spec.dense_flop_per_s[precision]
    return "latency" if max(memory_s, compute_s) < LATENCY_S else "memory" if memory_s >= compute_s else "compute"


def _levels(problems: Sequence[Problem]) -> str:
    lines = [
        "## By level",
        "",
        f"Bounds are those of float32 without tensor cores, and of bfloat16 with them, on one {DEVICE}, from declared bytes and flops at full size.",
        "",
    ]
    lines += [
        "| variant | level | problems | float32: memory · compute · latency | bfloat16: the same | with gradients | settings |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for variant in VARIANTS:
        for level in sorted({one.level or 0 for one in problems if one.variant == variant}):
            here = [one for one in problems if (one.variant, one.level) == (variant, level)]
            lines.append(_row(variant, f"L{level}", here))
    lines.append(_row("both", "all", problems))
    return "\n".join(lines) + "\n"


def _row(variant: str, level: str, here: Sequence[Problem]) -> str:
    kinds = [Counter(bound_kind(one, precision) for one in here) for precision in ITEMSIZE]
    bounds = [" · ".join(str(kind[name]) for name in ("memory", "compute", "latency")) for kind in kinds]
    backward = sum(bool(facts(one).differentiable) for one in here)
    listed = sum(len(settings(one)) for one in here)
    cells = [variant, level, len(here), *bounds, backward, listed]
    return "| " + " | ".join(str(one) for one in cells) + " |"


def _domains(problems: Sequence[Problem]) -> str:
    lines = ["## By domain", "", "| domain | " + " | ".join(VARIANTS) + " | with gradients |", "|---|" + "---:|" * (len(VARIANTS) + 1)]
    for domain in sorted({facts(one).domain or "" for one in problems}):
        here = [one for one in problems if facts(one).domain == domain]
        counts = [sum(one.variant == variant for one in here) for variant in VARIANTS]
        lines.append(f"| {domain} | {' | '.join(map(str, counts))} | {sum(bool(facts(one).differentiable) for one in here)} |")
    return "\n".join(lines) + "\n"


def _ids(problems: Sequence[Problem]) -> str:
    return ", ".join(f"`{one.id}`" for one in problems)
