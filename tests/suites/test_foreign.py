"""Files of other benchmarks run unmodified: sizes drawn once a trial, one rank, and clear reasons for what cannot run."""

import sys
from pathlib import Path

import pytest
import torch

from popcorn.errors import BadProblem
from popcorn.suites.loading import Loaded, load
from popcorn.suites.problems import find_problem
from popcorn.worker.subject import load_reference
from tests.suites.test_problems import write

HEAD = "import torch\nimport torch.nn as nn\n\n"
RANKS = HEAD + "from kernelbench.distributed_collectives import default_device\n\n"
NO_ARGUMENTS = "\n\ndef get_init_inputs():\n    return []\n"

LOGSUMEXP = (
    RANKS
    + """R = 4
B = 10
D = 32

class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(x, dim=0)

def get_inputs():
    dev = default_device()
    p = popcorn_pri
    return [torch.randn(p.jitter_int(R), p.jitter_int(B), p.jitter_int(D, align=8), device=dev)]
"""
    + NO_ARGUMENTS
)

ALL_GATHER = (
    RANKS
    + """R = 4
B = 12
H = 32
K = 56

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(R * H, K, bias=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        r, b, h = x.shape
        assert r == R and h == H
        parts = [x[i] for i in range(R)]
        gathered = torch.cat(parts, dim=-1)
        return self.proj(gathered)

def get_inputs():
    dev = default_device()
    p = popcorn_pri
    return [torch.randn(p.jitter_int(R), p.jitter_int(B), p.jitter_int(D, align=8), device=dev)]
"""
    + NO_ARGUMENTS
)

SCAN = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, a, b):
        return torch.cumsum(a * b, dim=1)

batch = 32
width = 16
length = 40

def get_inputs():
    a = torch.rand(popcorn_pri.jitter_int(batch), popcorn_pri.jitter_int(length), width)
    b = torch.randn(popcorn_pri.jitter_int(batch), popcorn_pri.jitter_int(length), width)
    return [a, b]

def get_init_inputs():
    return [width]
"""
)

PLAIN = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, x, index):
        return x[index]

N = 1000

def get_inputs():
    return [torch.rand(N, 4), torch.randint(0, N, (9,))]
"""
    + NO_ARGUMENTS
)


def opened(folder: Path, text: str, size: str = "full") -> Loaded:
    return load(find_problem(write(folder, text)), size)  # type: ignore[arg-type]


def run(one: Loaded, seed: int, jitter: bool = True) -> torch.Tensor:
    dims = one.draw_dims(seed, jitter)
    torch.manual_seed(seed)
    with torch.no_grad():
        out: torch.Tensor = one.model(dims)(*one.inputs(dims))
    return out


def test_a_file_with_the_injected_name_runs_and_its_sizes_become_dims(tmp_path: Path) -> None:
    one = opened(tmp_path, LOGSUMEXP)
    assert list(one.dims) == ["R", "B", "D"] and one.problem.origin == "popcornbench"
    assert (one.dims["B"].low, one.dims["B"].high) == (8, 11)
    assert (one.dims["D"].low, one.dims["D"].high, one.dims["D"].align) == (24, 32, 8)
    for seed in range(5):
        dims = one.draw_dims(seed, True)
        (x,) = one.inputs(dims)
        assert x.shape == (dims["R"], dims["B"], dims["D"])
        assert torch.isfinite(run(one, seed)).all()
    assert run(one, 0, jitter=False).shape == (10, 32)


def test_the_undefined_name_of_a_published_problem_is_named_with_its_line(tmp_path: Path) -> None:
    line = ALL_GATHER[: ALL_GATHER.index("jitter_int(D")].count("\n") + 1
    with pytest.raises(BadProblem, match=rf"`D` \(line {line}\), which it never defines"):
        opened(tmp_path, ALL_GATHER)


def test_sizes_that_the_reference_asserts_stay_and_the_others_move(tmp_path: Path) -> None:
    one = opened(tmp_path, ALL_GATHER.replace("jitter_int(D, align=8)", "jitter_int(H, align=8)"))
    assert list(one.dims) == ["B"]
    assert any("own size" in remark and "R, H" in remark and "AssertionError" in remark for remark in one.remarks)
    for seed in range(5):
        assert run(one, seed).shape == (one.draw_dims(seed, True)["B"], 56)


def test_tensors_of_one_trial_share_one_draw_a_size(tmp_path: Path) -> None:
    one = opened(tmp_path, SCAN)
    assert list(one.dims) == ["batch", "length"]
    assert any("one draw a trial" in remark for remark in one.remarks)
    shapes = set()
    for seed in range(8):
        a, b = one.inputs(one.draw_dims(seed, True))
        assert a.shape == b.shape
        shapes.add(a.shape)
    assert len(shapes) > 4


def test_a_plain_file_runs_at_its_own_sizes_and_integers_stay_integers(tmp_path: Path) -> None:
    one = opened(tmp_path, PLAIN, "cpu")
    assert one.dims == {} and one.draw_dims(3, True) == {}
    x, index = one.inputs({})
    assert x.shape == (1000, 4) and index.dtype is torch.int64
    assert run(one, 0).shape == (9, 4)
    assert any("no size for machines without GPU" in remark for remark in one.remarks)


def test_a_plain_file_may_lack_arguments_of_the_model(tmp_path: Path) -> None:
    assert opened(tmp_path, PLAIN.replace(NO_ARGUMENTS, "")).init_args({}) == []


def test_inputs_that_do_not_fit_are_refused_before_they_are_made(tmp_path: Path) -> None:
    one = opened(tmp_path, PLAIN.replace("N = 1000", "N = 10**12"))
    with pytest.raises(BadProblem, match=r"16000\.0 GB of inputs"):
        one.inputs({})


def test_the_injected_package_is_gone_afterwards(tmp_path: Path) -> None:
    one = opened(tmp_path, LOGSUMEXP)
    one.inputs(one.draw_dims(0, True))
    assert not [name for name in sys.modules if name.split(".")[0] == "kernelbench"]
    with pytest.raises(BadProblem):
        opened(tmp_path, LOGSUMEXP.replace("return [torch", "return [undefined, torch"))
    assert "kernelbench" not in sys.modules


def test_every_collective_that_the_files_import_has_one_rank(tmp_path: Path) -> None:
    names = "default_device, maybe_init_process_group, is_distributed_run, get_rank, get_world_size"
    text = LOGSUMEXP.replace("import default_device", f"import {names}").replace(
        "torch.logsumexp(x, dim=0)", "x * get_world_size() + get_rank() + is_distributed_run()"
    )
    one = opened(tmp_path, text)
    dims = one.draw_dims(0, True)
    (x,) = one.inputs(dims)
    assert torch.equal(one.Model()(x), x)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("import default_device", "import default_device, all_reduce_sum", "imports `all_reduce_sum` from kernelbench"),
        (
            "p.jitter_int(R)",
            "p.draw_moon_phase(R)",
            r"popcorn_pri\.draw_moon_phase, which Popcorn does not offer; expected one of .*jitter_int",
        ),
        ("dim=0)", "dim=7)", r"the reference at its own sizes failed \(line \d+\): IndexError"),
        ("from kernelbench.distributed_collectives", "from kernelbench.eval", "not installed"),
    ],
)
def test_what_cannot_run_says_why(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(BadProblem, match=reason):
        opened(tmp_path, LOGSUMEXP.replace(old, new))


def test_finding_sizes_leaves_torchs_generator_alone(tmp_path: Path) -> None:
    torch.manual_seed(11)
    before = torch.get_rng_state()
    opened(tmp_path, SCAN)
    opened(tmp_path, PLAIN)
    assert torch.equal(before, torch.get_rng_state())


def graph_file(call: str, forward: str) -> str:
    model = f"class Model(nn.Module):\n    def forward(self, *given):\n        {forward}\n\n"
    return HEAD + model + f"def get_inputs():\n    return list(popcorn_pri.{call})\n"


@pytest.mark.parametrize(
    ("call", "kinds"),
    [
        ("make_csr_graph(60, 12, 24)", "iif"),
        ("make_csr_graph_with_edge_weights(60, 12, 24)", "iiff"),
        ("make_csr_degree_normalized_graph(60, 12, 24)", "iiff"),
        ("make_csr_multihead_spmm_graph(60, 12, 8, 32)", "iiff"),
        ("make_csr_scalar_edge_scores(60, 12)", "if"),
        ("make_csr_multihead_edge_scores(60, 12, 8)", "if"),
        ("make_csr_fused_attention_value_graph(60, 12, 24)", "iiff"),
        ("moe_dispatch_inputs(128, 32, 6)", "fiii"),
        ("moe_combine_inputs(128, 32, 4)", "fifn"),
    ],
)
def test_every_generator_of_graphs_and_experts_gives_consistent_inputs(tmp_path: Path, call: str, kinds: str) -> None:
    one = opened(tmp_path, graph_file(call, "return given[0]"))
    assert one.dims
    for seed in range(3):
        made = one.inputs(one.draw_dims(seed, True))
        found = "".join("n" if isinstance(x, int) else "f" if x.is_floating_point() else "i" for x in made)
        assert found == kinds
        if "csr" in call:
            row_ptr, edges = made[0], made[1]
            assert row_ptr.dtype is torch.int32 and row_ptr[0] == 0 and (row_ptr.diff() > 0).all()
            assert kinds == "if" or int(edges.max()) < row_ptr.numel() - 1
            assert int(row_ptr[-1]) == edges.shape[0]


def test_the_places_of_dispatched_tokens_are_a_permutation(tmp_path: Path) -> None:
    one = opened(tmp_path, graph_file("moe_dispatch_inputs(128, 32, 6)", "return given[0]"))
    _, expert, place, offsets = one.inputs(one.draw_dims(2, True))
    assert torch.equal((offsets[expert.long()] + place).sort().values, torch.arange(expert.numel(), dtype=torch.int32))


def by_name_only(given: str, signature: str = "self, x, *, scale=2.0", body: str = "x * scale") -> str:
    return HEAD + (
        f"class Model(nn.Module):\n    def forward({signature}):\n        return {body}\n\n"
        f"def get_inputs():\n    return {given}\n{NO_ARGUMENTS}"
    )


@pytest.mark.parametrize(
    "given", ["[torch.ones(3)]", "{'x': torch.ones(3)}", "{'x': torch.ones(3), 'scale': 2.0}", "[[torch.ones(3)], {'scale': 2.0}]"]
)
def test_an_argument_by_name_only_has_its_default(tmp_path: Path, given: str) -> None:
    loaded = opened(tmp_path, by_name_only(given))
    (x,) = loaded.inputs({})
    assert torch.equal(loaded.Model()(x), 2.0 * torch.ones(3))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (by_name_only("{'x': torch.ones(3), 'scale': 3.0}"), "by place.*its default is 2.0.*make 3.0 its default"),
        (by_name_only("{'x': torch.ones(3), 'scale': torch.ones(3)}"), "make the value its default"),
        (by_name_only("{'x': torch.ones(3), 'scale': True}", "self, x, *, scale=1"), "make True its default"),
        (by_name_only("[torch.ones(3)]", "self, x, *, scale"), "takes `scale` by name only and without a default"),
        (by_name_only("[torch.ones(3)]") .replace("class Model(nn.Module):\n", "class Model(nn.Module):\n    def __init__(self, *, width):\n        super().__init__()\n\n"), "Model.__init__ takes `width` by name only"),
    ],
)  # fmt: skip
def test_an_argument_by_name_only_that_would_need_a_value_is_refused_in_a_sentence(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BadProblem, match=reason):
        opened(tmp_path, text).inputs({})


def test_a_file_that_puts_everything_on_a_gpu_runs_without_one(tmp_path: Path) -> None:
    text = (
        "import torch\nW = torch.ones(3, device='cuda')\nclass Model(torch.nn.Module):\n    def __init__(self, n, device):\n        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.ones(n, device=device))\n    def forward(self, x):\n        return x * self.w * W\n"
        "def get_inputs():\n    return [torch.ones(3).cuda()]\ndef get_init_inputs():\n    return [3, 'cuda']\n"
    )
    (tmp_path / "p.py").write_text(text)
    loaded = load(find_problem(str(tmp_path / "p.py")), "cpu")
    made = load_reference(loaded.Model, loaded.init_args({}), 0, "float32", loaded.inputs({})[0].device, False)
    assert made.call(loaded.inputs({})).tolist() == [1, 1, 1]


def test_the_shape_of_a_tensor_is_an_argument_like_any_tuple(tmp_path: Path) -> None:
    (tmp_path / "norm.py").write_text(
        "import torch\n\nx = torch.zeros(4, 6)\n\nclass Model(torch.nn.LayerNorm):\n    pass\n\n"
        "def get_inputs():\n    return [torch.randn(4, 6)]\n\ndef get_init_inputs():\n    return [x.shape[1:]]\n"
    )
    (given,) = load(find_problem(str(tmp_path / "norm.py"))).init_args({})
    assert type(given) is tuple and given == (6,)
