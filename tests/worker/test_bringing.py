"""Foreign folders brought in for real: each file tried in a fenced child, then usable by id."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from popcorn.errors import BadProblem, UnknownProblem
from popcorn.suites.importing import shelf
from popcorn.suites.importing.formats import read_folder
from popcorn.suites.problems import find_problem
from popcorn.suites.shelved import list_shelved
from popcorn.worker import bringing
from popcorn.worker.bench import Bench
from popcorn.worker.bringing import bring_suite, open_folder
from popcorn.worker.fitness import check_fitness
from tests.suites.importing import samples
from tests.suites.importing.samples import write


@pytest.fixture(scope="module", autouse=True)
def own_shelf(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POPCORN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def bring(bench: Bench, folder: Path, name: str | None = None) -> shelf.Suite:
    return bring_suite(folder, bench, name, "auto", lambda _: None)


def states(suite: shelf.Suite) -> dict[str, str]:
    return {one.key: one.state for one in suite.entries}


def test_what_runs_is_found_by_id_and_what_cannot_says_why(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bringing, "SHAPES_S", 5.0)
    files = {
        "level1/1_fine.py": samples.SOFTMAX,
        "level1/2_hang.py": "while True: pass\n" + samples.SOFTMAX,
        "level1/3_abort.py": "import os\nos.abort()\n" + samples.SOFTMAX,
        "level1/4_write.py": f"open({str(tmp_path / 'pwned')!r}, 'w')\n" + samples.SOFTMAX,
        "level1/5_memory.py": "x = bytearray(1 << 45)\n" + samples.SOFTMAX,
        "level1/6_arity.py": samples.SOFTMAX.replace("(self, x)", "(self, x, y)"),
        "level1/7_large.py": samples.SOFTMAX.replace("= 16", "= 10**8"),
        "level1/8_no_tensor.py": samples.SOFTMAX.replace("torch.softmax(x, dim=1)", "3"),
    }
    suite = bring(bench, write(tmp_path / "kb", files))
    assert suite.name == "kernelbench" and not (tmp_path / "pwned").exists()
    assert states(suite) == {
        f"L1/{n}": state for n, state in zip(range(1, 9), ["runs", *["refused"] * 5, "shapes", "refused"], strict=True)
    }
    reasons = {one.key: one.reason or "" for one in suite.entries}
    for key, word in (
        ("L1/2", "more than 5 s"),
        ("L1/3", "SIGABRT"),
        ("L1/4", "Permission denied"),
        ("L1/5", "memory"),
        ("L1/6", "missing 1 required"),
        ("L1/7", "GB"),
        ("L1/8", "holds no tensor"),
    ):
        assert word in reasons[key], key
    one = find_problem("kernelbench/L1/1")
    assert one.source == samples.SOFTMAX and one.origin == "kernelbench" and one.suite_version == suite.version
    assert find_problem("kernelbench/L1/1_fine") == one == find_problem("kernelbench/fine")
    assert [problem.id for problem in list_shelved("kernelbench")] == ["kernelbench/L1/1", "kernelbench/L1/7"]
    with pytest.raises(BadProblem, match=r"L1/3 \(level1/3_abort.py\) cannot run: ended its process"):
        find_problem("kernelbench/L1/3")
    with pytest.raises(UnknownProblem, match="problems list --suite kernelbench"):
        find_problem("kernelbench/L1/99")


def test_versions_do_not_mix_and_a_changed_shelf_is_noticed(bench: Bench, tmp_path: Path) -> None:
    first = bring(bench, write(tmp_path, {"level1/1_a.py": samples.SOFTMAX}), "mine")
    assert bring(bench, tmp_path, "mine").version == first.version, "the same texts, the same version"
    second = bring(bench, write(tmp_path, {"level1/1_a.py": samples.SOFTMAX.replace("dim=1", "dim=0")}), "mine")
    assert second.version != first.version and "dim=0" in find_problem("mine/L1/1").source
    old = find_problem(f"mine@{first.version[:6]}/L1/1")
    assert "dim=1" in old.source and old.id == f"mine@{first.version}/L1/1" and old.hash != find_problem("mine/L1/1").hash
    shelf.text_path(second, second.entries[0]).write_text("import os\n" + samples.SOFTMAX, encoding="utf-8")
    with pytest.raises(BadProblem, match="changed on the shelf"):
        find_problem("mine/L1/1")


def test_a_file_that_runs_only_by_one_draw_a_trial_says_so(bench: Bench, tmp_path: Path) -> None:
    (one,) = bring(bench, write(tmp_path, {"level1/popcorn/9_scan.py": samples.SCAN})).entries
    assert one.state == "runs" and any("with the file's own draws it fails at" in remark for remark in one.remarks)
    assert find_problem("popcornbench/L1/9").origin == "popcornbench"


def test_every_other_format_runs_with_its_settings_and_integers_stay_integers(bench: Bench, tmp_path: Path) -> None:
    backward = json.dumps({"single_input_configs": [{"batch_size": 16}]})
    forward = json.dumps(samples.LAYER_NORM_CONFIG)
    tasks = {
        "t/norm/func_forward.py": samples.LAYER_NORM,
        "t/norm/config_forward.json": forward,
        "t/norm/func_backward.py": samples.RELU_BACKWARD,
        "t/norm/config_backward.json": backward,
    }
    suites = [
        bring(bench, write(tmp_path / "rk", tasks)),
        bring(bench, write(tmp_path / "ct", {"m/task.py": samples.TASK, "m/k.cu": "// [EVOLVE_START]\n// [EVOLVE_END]\n"})),
        bring(
            bench,
            write(tmp_path / "fi", {"definition.json": json.dumps(samples.DEFINITION), "workload.jsonl": samples.workloads(1, 8, 64)}),
        ),
        bring(bench, write(tmp_path / "pc", {"p/reference.py": samples.CASES_REFERENCE, "p/cases.toml": samples.CASES})),
    ]
    assert [set(states(suite).values()) for suite in suites] == [{"runs"}] * 4
    ids = [problem for suite in suites for problem in list_shelved(suite.name)]
    assert {problem.id for problem in ids} >= {"robust_kbench/norm", "robust_kbench/norm_backward", "custom_task/m", "cases/p"}
    fit = {one.problem.id: one for one in check_fitness(ids, bench, 2, lambda _: None)}
    assert fit["robust_kbench/norm"].fit and fit["cases/p"].fit, fit["cases/p"].remark()


def test_a_shipped_problem_exported_and_imported_again_runs(bench: Bench, tmp_path: Path) -> None:
    from popcorn.suites.exporting import export_problem

    for name in ("popcorn/L1/29", "popcorn/L1/3"):
        problem = find_problem(name)
        source = re.sub(r"Dim\((\d{5,}), low=(\d+), high=(\d+)", small_dim, problem.source)
        assert source != problem.source, "what is exported has one size, a GPU's, which takes a CPU half a minute"
        written = export_problem(problem.model_copy(update={"source": source}), tmp_path / name.replace("/", "_"))
        assert written["workloads"] >= 1
    definition = json.loads((tmp_path / "popcorn_L1_29" / "definition.json").read_text())
    assert definition["inputs"]["x"]["shape"] == ["R", "B", "D"] and definition["outputs"]["out0"]["shape"] == ["B", "D"]
    suite = bring(bench, tmp_path, "exported")
    assert set(states(suite).values()) == {"runs"}, [one.reason for one in suite.entries]


def small_dim(found: re.Match[str]) -> str:
    """A dimension of many thousands, a thirty-second as large."""
    size, low, high = (int(text) // 32 for text in found.groups())
    return f"Dim({size}, low={low}, high={high}"


def test_an_answer_that_is_drawn_is_refused_and_one_rank_is_said(bench: Bench, tmp_path: Path) -> None:
    body = "torch.softmax(x, dim=1)"
    files = {
        "level1/1_drop.py": samples.SOFTMAX.replace(body, "nn.functional.dropout(x, 0.5)"),
        "level1/2_drawn_in_vain.py": samples.SOFTMAX.replace(body, "x + 0 * torch.rand_like(x)"),
        "level1/3_ranks.py": "import torch.distributed as dist\n" + samples.SOFTMAX,
        "level1/4_half.py": samples.SOFTMAX.replace("dim)]", "dim).half()]"),
        "level1/5_in_place.py": samples.SOFTMAX.replace(body, "x.mul_(2)"),
        "level1/6_infinite.py": samples.SOFTMAX.replace(body, "x.masked_fill(x > 0.5, float('-inf'))"),
        "level1/7_nothing.py": samples.SOFTMAX.replace(body, "x[:0]"),
        "level1/8_sparse.py": samples.SOFTMAX.replace(body, "x.to_sparse()"),
        "level1/9_number.py": samples.SOFTMAX.replace(body, "float(x.sum())"),
        "level1/11_named.py": "import collections\nP = collections.namedtuple('P', 'a')\n"
        + samples.SOFTMAX.replace("(x, dim", "(x.a, dim").replace("[torch.rand(batch_size, dim)]", "[P(torch.rand(batch_size, dim))]"),
        "level1/12_state.py": samples.SOFTMAX.replace(
            "return torch.soft", "self.n = getattr(self, 'n', 0) + 1\n        return self.n * torch.soft"
        ),
        "level1/10_cuda.py": samples.SOFTMAX.replace("dim)]", 'dim, device="cuda")]'),
    }
    suite = bring(bench, write(tmp_path / "kb", files), "drawn")
    assert states(suite) == {f"L1/{n}": "refused" if n in (1, 8, 9, 11, 12) else "runs" for n in range(1, 13)}
    told = {one.key: f"{one.reason} {one.remarks}" for one in suite.entries}
    assert "draws random numbers" in told["L1/1"] and "runs here in one" in told["L1/3"] and "choose float16" in told["L1/4"]
    assert "changes its inputs" in told["L1/5"] and "NaN or infinity" in told["L1/6"] and "no elements" in told["L1/7"]
    assert "let it return .to_dense()" in told["L1/8"] and "returns float, which holds no tensor" in told["L1/9"]
    assert "keeps something from call to call" in told["L1/12"]
    assert "gives a P, which no other process can be handed" in told["L1/11"]


def test_tensors_of_a_checkout_are_read_behind_the_fence_and_belong_to_the_version(bench: Bench, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    (tmp_path / "fi").mkdir()
    line = json.loads(samples.workloads(8))
    line["inputs"]["index"] = {"type": "safetensors", "path": "./blob.safetensors", "tensor_key": "index"}
    write(tmp_path / "fi", {"definition.json": json.dumps(samples.DEFINITION), "workload.jsonl": json.dumps(line) + "\n"})
    versions = []
    for first in (0, 1):
        save_file({"index": torch.arange(first, first + 48)}, tmp_path / "fi" / "blob.safetensors")
        from popcorn.suites.importing.flashinfer import digest

        digest.cache_clear()
        suite = bring(bench, tmp_path / "fi", "tensors")
        assert suite.entries[0].state == "runs" and any("must stay" in one for one in suite.entries[0].remarks)
        versions.append(suite.version)
    assert versions[0] != versions[1]


def test_a_file_of_rows_is_opened_as_a_folder_for_as_long_as_it_is_read(tmp_path):
    code = "import torch\n\nclass Model(torch.nn.Module):\n    pass\n\ndef get_inputs():\n    return []\n"
    (tmp_path / "kb.jsonl").write_text(json.dumps({"code": code}) + "\n")
    with open_folder(str(tmp_path / "kb.jsonl")) as folder:
        assert folder.name == "kb" and (folder / "1_row.py").read_text() == code
    assert not folder.exists()


def test_the_class_that_a_row_names_as_its_entry_point_becomes_model(tmp_path: Path) -> None:
    code = "import torch\nclass Sum(torch.nn.Module):\n    def forward(self, x):\n        return x.sum(1)\ndef get_inputs():\n    return [torch.rand(4, 4)]\n"
    two = code + "class Mean(torch.nn.Module):\n    pass\n"  # and none of them is called so
    rows = [
        {"entry_point": name, "triton_code": "def get_inputs(): ...", "python_code": text} for name, text in (("Sum", code), ("Other", two))
    ]
    (tmp_path / "book.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_folder(str(tmp_path / "book.jsonl")) as folder:
        (one,) = read_folder(folder)[1]
    assert (one.key, one.name, one.refused) == ("1", "sum", None) and one.source == code + "\n\nModel = Sum\n"


def test_a_file_is_tried_in_its_own_element_type_and_a_compiled_forward_as_it_is_written(bench: Bench, tmp_path: Path) -> None:
    """The first insists on half precision inside; inductor's process of the second ended by a signal where tensors hold nothing."""
    half = samples.SOFTMAX.replace("torch.softmax(x, dim=1)", "x.to(torch.bfloat16) @ torch.ones(300, 4, dtype=torch.bfloat16)")
    files = {
        "level1/1_half.py": half.replace("batch_size, dim)", "batch_size, dim, dtype=torch.bfloat16)"),
        "level1/2_compiled.py": samples.SOFTMAX.replace("    def forward", "    @torch.compile\n    def forward"),
        "level1/3_single.py": half.replace("4, dtype=torch.bfloat16", "4"),
    }
    suite = bring(bench, write(tmp_path, files), "own")
    assert states(suite) == {"L1/1": "runs", "L1/2": "runs", "L1/3": "refused"}
    told = {one.key: " ".join([one.reason or "", *one.remarks]) for one in suite.entries}
    assert "choose bfloat16 to judge at that type" in told["L1/1"] and "insists on bfloat16 inside" in told["L1/3"]
