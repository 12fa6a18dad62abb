"""Folders of other benchmarks read without running anything: which problems there are, and why a file is none."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from popcorn.errors import BadProblem, PopcornError
from popcorn.suites.importing import custom_task
from popcorn.suites.importing.formats import FORMATS, read_folder
from popcorn.suites.importing.found import files_below, snake
from popcorn.suites.importing.settings import product
from popcorn.suites.importing.workloads import evaluate
from tests.suites.importing import samples
from tests.suites.importing.samples import write


def test_a_checkout_is_read_by_level_and_number_and_scripts_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"KernelBench/level1/23_Softmax.py": samples.SOFTMAX, "KernelBench/level2/9_Scan.py": samples.SCAN, "scripts/run.py": "print(1)"},
    )
    name, found = read_folder(tmp_path)
    assert name == "kernelbench" and [(one.key, one.name, one.level, one.number) for one in found] == [
        ("L1/23", "softmax", 1, 23),
        ("L2/9", "scan", 2, 9),
    ]
    assert found[0].source == samples.SOFTMAX, "byte for byte"


def test_two_variants_of_a_level_and_a_number_used_twice_stay_apart(tmp_path: Path) -> None:
    files = {"level1/popcorn/1_A.py": samples.SCAN, "level1/original/1_A.py": samples.SOFTMAX, "level1/original/1_B.py": samples.SOFTMAX}
    _, found = read_folder(write(tmp_path, files))
    assert [one.key for one in found] == ["original/L1/1", "original/L1/1_b", "popcorn/L1/1"]


def test_problems_that_are_all_called_alike_have_the_names_of_their_folders(tmp_path: Path) -> None:
    files = {
        "problems/01_fp8_gemm/reference.py": samples.SOFTMAX,
        "problems/02_Paged/reference.py": samples.SOFTMAX,
        "problems/rope/model.py": samples.SOFTMAX,
    }
    _, found = read_folder(write(tmp_path, files))
    assert [(one.key, one.name) for one in found] == [("1", "fp8_gemm"), ("2", "paged"), ("rope", "rope")]
    (alone,) = read_folder(tmp_path / "problems" / "01_fp8_gemm")[1]
    assert alone.key == "reference"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def x(:", "not valid Python"),
        ("x = " + "(" * 5000 + ")" * 5000, "not valid Python"),
        ("x = " + "-" * 200_000 + "1", "not valid Python|nested too deeply"),
        ("#" * 1_000_001, "1,000,001 bytes"),
        (samples.SOFTMAX.replace("class Model(nn.Module)", "class Other"), "defines no `Model`"),
        (samples.SOFTMAX.replace("(batch_size, dim)", "(batch_size, D)"), r"uses `D` \(line \d+\), which it never defines"),
    ],
)
def test_a_file_that_is_no_problem_says_why_and_stops_nobody(tmp_path: Path, text: str, reason: str) -> None:
    write(tmp_path, {"level1/1_bad.py": text, "level1/2_good.py": samples.SOFTMAX})
    _, (bad, good) = read_folder(tmp_path)
    assert bad.refused is not None and good.refused is None
    with pytest.raises(BadProblem, match=reason):
        raise BadProblem(bad.refused)


def test_a_folder_of_nothing_and_an_unknown_format_name_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing that could be a problem")
    with pytest.raises(BadProblem, match="none of the known formats"):
        read_folder(tmp_path)
    with pytest.raises(BadProblem, match="expected auto, robust_kbench"):
        read_folder(tmp_path, "moonbench")
    with pytest.raises(PopcornError, match="not a folder"):
        read_folder(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("data/cuda.jsonl", '{"task_id": "CUDA/0", "prompt": "Write"}\n', "ComputeEval.*without a reference"),
        ("h100.json", '[{"level_id": 1, "custom_code": "class ModelNew"}]', r"CUDA-L1.*popcorn eval original/L1/2 FILE"),
        ("h100/1/2/custom_code.py", "class ModelNew:\n    pass\n", "CUDA-L1"),
        (
            "tasks/level1/Add/validation/prepare_inputs.py",
            "def get_inputs(param, device=None):\n    return ()\n",
            "NPUKernelBench.*get_input_groups",
        ),
        ("reference/1_allreduce.py", "import torch.distributed as dist\n\ndef solution(x):\n    return x\n", "ParallelKernelBench.*RANKS"),
        (
            "operators/add/operator.py",
            "from tritonbench.utils.triton_op import BenchmarkOperator\n\nclass Operator(BenchmarkOperator):\n    pass\n",
            "PyTorch's tritonbench.*cases.toml",
        ),
        ("ops.jsonl", '{"uuid": "1", "op_name": "aten.add.Tensor", "args": "((T([5], f32),), {})"}', "BackendBench.*cases.toml"),
        ("data/TritonBench_G_v1.json", '[{"instruction": "You", "output": "import triton"}]', "TritonBench.*cases.toml"),
        ("prompts.json", '[{"name": "scan", "parallelism_model": "cuda", "prompt": "/* */"}]', "ParEval.*cases.toml"),
        ("torchbench.txt", "Operator: aten.add.Tensor\ncnt: 3, ()\n", "BackendBench.*cases.toml"),
        ("set/data-00000-of-00001.arrow", "ARROW1", "to_parquet"),
        ("data/T/add.py", "def add(a):\n    return a\n" + "#" * 120 + "\ndef test_add():\n    add(1)\n", "TritonBench.*cases.toml"),
    ],
)
def test_a_benchmark_that_cannot_be_imported_is_named_with_the_reason(tmp_path: Path, file: str, text: str, reason: str) -> None:
    with pytest.raises(BadProblem, match=reason):
        read_folder(write(tmp_path, {file: text}))


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    inside = write(tmp_path / "suite", {"level1/1_a.py": samples.SOFTMAX})
    write(tmp_path / "elsewhere", {"2_b.py": samples.SOFTMAX})
    (inside / "level1" / "2_b.py").symlink_to(tmp_path / "elsewhere" / "2_b.py")
    (inside / "level2").symlink_to(inside)
    assert [path.name for path in files_below(inside, ".py")] == ["1_a.py"]


def test_settings_are_the_product_with_shared_values_winning() -> None:
    made = product(samples.LAYER_NORM_CONFIG, "multi")
    assert len(made) == 8 and ({"init_method": "standard", "num_features": 2}, {"batch_size": 8, "num_features": 2}) in made
    assert product({}, "single") == [({}, {})]
    with pytest.raises(BadProblem, match="not a list of objects"):
        product({"multi_input_configs": 3}, "multi")
    with pytest.raises(BadProblem, match="a parameter's name"):
        product({"multi_input_configs": [{"x); import os": 1}]}, "multi")


def test_a_definition_with_workloads_becomes_one_problem_with_its_solution_beside_it(tmp_path: Path) -> None:
    solution = {
        "name": "mine",
        "definition": "scaled_softmax_h96",
        "spec": {"entry_point": "main.py::run"},
        "sources": [{"path": "main.py", "content": "def run(x): ..."}],
    }
    files = {
        "a/definition.json": json.dumps(samples.DEFINITION),
        "a/workload.jsonl": samples.workloads(1, 8, 64),
        "a/solution_x.json": json.dumps(solution),
    }
    name, (one,) = read_folder(write(tmp_path, files))
    assert name == "flashinfer" and one.key == "scaled_softmax_h96" and one.refused is None
    assert one.source.startswith(samples.DEFINITION["reference"].rstrip()) and "class ModelNew" in one.files["mine.py"]


def test_the_dataset_layout_with_traces_as_workloads_is_read_too(tmp_path: Path) -> None:
    lines = "".join(
        json.dumps({"definition": "scaled_softmax_h96", "workload": json.loads(line), "solution": None}) + "\n"
        for line in samples.workloads(4, 8).splitlines()
    )
    files = {
        "definitions/softmax/scaled_softmax_h96.json": json.dumps(samples.DEFINITION),
        "workloads/softmax/scaled_softmax_h96.jsonl": lines,
    }
    _, (one,) = read_folder(write(tmp_path, files))
    assert one.refused is None and "2 workloads" in one.remarks[-2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"axes": {"rows": {"type": "var"}, "columns": {"type": "moon"}}}, "neither const"),
        ({"axes": {"rows": {"type": "var"}}}, "'columns' has no size"),
        ({"inputs": {"x": {"shape": ["rows"], "dtype": "float4_e2m1"}}}, "torch does not compute"),
        ({"inputs": {"x; import os": {"shape": ["rows"], "dtype": "float32"}}}, "no name that Python allows"),
        ({"reference": "def other(x): ..."}, "no function `run`"),
        ({"reference": "def run(:"}, "not valid Python"),
        ({"reference": 3}, "not text"),
    ],
)
def test_a_definition_that_cannot_run_says_why(tmp_path: Path, change: dict, reason: str) -> None:
    write(tmp_path, {"definition.json": json.dumps(samples.DEFINITION | change), "workload.jsonl": samples.workloads(4)})
    _, (one,) = read_folder(tmp_path, "flashinfer")
    assert one.refused is not None and reason in one.refused


def test_a_reference_that_uses_the_problems_own_names_gets_a_namespace(tmp_path: Path) -> None:
    text = "import torch\n\ndef get_inputs(axes, device):\n    return {'x': torch.ones(axes['rows'], 2)}\n\ndef run(x):\n    return x + 1\n"
    told = {
        "axes": {"rows": {"type": "var"}},
        "inputs": {"x": {"shape": ["rows"], "dtype": "float32"}},
        "outputs": {},
        "reference": text,
        "custom_inputs_entrypoint": "get_inputs",
    }
    lines = json.dumps({"axes": {"rows": 3}, "inputs": {"x": {"type": "custom"}}})
    _, (one,) = read_folder(write(tmp_path, {"definition.json": json.dumps(told), "workload.jsonl": lines}))
    namespace: dict = {}
    exec(one.source, namespace)
    (x,) = namespace["get_inputs"]()
    assert x.shape == (3, 2) and (namespace["Model"]()(x) == 2).all()


@pytest.mark.parametrize(("text", "value"), [("a // 2 + 1", 5), ("(a + 1) * 2", 18), ("2 ** 3", 8), ("-a + 10", 2)])
def test_axis_expressions_have_arithmetic(text: str, value: int) -> None:
    assert evaluate(text, {"a": 8}) == value


@pytest.mark.parametrize("text", ["__import__('os')", "a.real", "9 ** 9 ** 9", "a / 0", "a / 3", "(" * 5000, "1" * 300, "a and 1", "0 * a"])
def test_and_nothing_but_arithmetic(text: str) -> None:
    with pytest.raises(BadProblem):
        evaluate(text, {"a": 8})


def test_marked_blocks_are_found_and_a_task_without_a_reference_says_so(tmp_path: Path) -> None:
    write(tmp_path, {"good/task.py": samples.TASK, "good/kernel.cu": "// [EVOLVE_START]\nint k;\n// [EVOLVE_END]\n"})
    write(tmp_path, {"bad/kernel.cu": "// [EVOLVE_START]\n// [EVOLVE_END]\n"})
    name, (bad, good) = read_folder(tmp_path)
    assert name == "custom_task" and "REFERENCE_START" in (bad.refused or "")
    assert good.source.startswith("# What the author of the task asks for:\n# Tile it.\n") and good.files == {"start_kernel.cu": "int k;\n"}
    assert custom_task.block("a [X_START]\nb\nc [X_END]", "X") == "b\n" and custom_task.block("[X_START]", "X") is None


def test_cases_in_toml_need_a_function_and_shapes(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "p/reference.py": samples.CASES_REFERENCE,
            "p/cases.toml": samples.CASES,
            "q/reference.py": "x = 1",
            "q/cases.toml": samples.CASES,
        },
    )
    write(tmp_path, {"r/reference.py": samples.CASES_REFERENCE, "r/cases.toml": "cases = ["})
    _, (p, q, r) = read_folder(tmp_path)
    assert p.refused is None and "no function `reference`" in (q.refused or "") and "not TOML" in (r.refused or "")


@given(st.binary(max_size=300), st.sampled_from(sorted(FORMATS)))
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_in_any_file_are_a_reason_and_never_a_crash(tmp_path: Path, content: bytes, name: str) -> None:
    for place in (
        "level1/1_a.py",
        "func_forward.py",
        "config_forward.json",
        "definition.json",
        "workload.jsonl",
        "cases.toml",
        "reference.py",
        "kernel.cu",
    ):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(content)
    (tmp_path / "kernel.cu").write_bytes(b"// [EVOLVE_START]\n" + content)
    try:
        read_folder(tmp_path, name)
    except PopcornError as error:
        assert str(error)


def test_names_become_ids() -> None:
    assert [snake(text) for text in ("ConvTranspose2d_Mish", "a b--c", "…")] == ["conv_transpose2d_mish", "a_b_c", "unnamed"]


@pytest.mark.parametrize(
    ("text", "kept"), [(samples.SOFTMAX.replace("(batch_size, dim)", "(batch_size, D)"), True), ("class ModelNew:\n    pass\n", False)]
)
def test_problems_that_are_refused_keep_their_reasons_beside_a_strangers_file(tmp_path: Path, text: str, kept: bool) -> None:
    write(tmp_path, {"level1/1_a.py": text, "h100.json": '[{"custom_code": "class ModelNew"}]'})
    if kept:
        assert "uses `D`" in (read_folder(tmp_path)[1][0].refused or "")
        return
    with pytest.raises(BadProblem, match="CUDA-L1"):
        read_folder(tmp_path)
