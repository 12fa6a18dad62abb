"""Finding problems: ids, prefixes, paths, and what is said when there is none."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from popcorn.errors import BadProblem, MissingFile, UnknownProblem
from popcorn.suites import problems
from popcorn.suites.problems import Problem, facts, find_problem, hash_source, list_problems

OURS = """from popcorn.suites.jitter import Dim
from torch import nn
N = Dim(64, cpu=16)
class Model(nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs(N=N):
    import torch
    return [torch.randn(N)]
def get_init_inputs():
    return []
"""


def write(folder: Path, text: str, name: str = "7_mine.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_both_variants_and_four_levels_are_there() -> None:
    ids = [problem.id for problem in list_problems()]
    assert len(ids) == len(set(ids)) >= 395
    assert {(one.variant, one.level) for one in list_problems()} == {(v, n) for v in ("popcorn", "original") for n in (1, 2, 3, 4)}
    assert ids.index("popcorn/L1/3") < ids.index("popcorn/L1/29"), "by number, not by text"
    assert all(one.variant == "popcorn" and one.level == 2 for one in list_problems("popcorn", 2))


@pytest.mark.parametrize(
    "text", ["popcorn/L1/29", "popcorn/L1/29_logsumexp", "popcorn/L1/29_logsumexp_across_virtual_ranks", "L1/29_logsumexp"]
)
def test_an_id_is_found_in_full_by_prefix_or_without_its_variant(text: str) -> None:
    assert find_problem(text).id == "popcorn/L1/29"


@pytest.mark.parametrize("text", ["original/L1/999", "softmx", "popcorn/L1/29x"])
def test_the_nearest_ids_are_all_told_with_their_names(text: str) -> None:
    with pytest.raises(UnknownProblem) as caught:
        find_problem(text)
    told = re.search(r"nearest: ([^;]*);", str(caught.value))
    assert told is not None and all(re.fullmatch(r"\w+/L\d/\d+_\w+", one) for one in told[1].split(", ")), str(caught.value)


def test_the_path_of_a_shipped_problem_is_that_problem() -> None:
    one = list_problems()[0]
    assert find_problem(one.path) == one


def test_an_id_of_two_variants_asks_which(monkeypatch: pytest.MonkeyPatch) -> None:
    one = find_problem("popcorn/L1/29")
    twin = one.model_copy(update={"id": "original/L1/29", "variant": "original"})
    monkeypatch.setattr(problems, "_shipped", lambda: (one, twin))
    with pytest.raises(UnknownProblem, match="could be popcorn/L1/29 or original/L1/29; say which variant"):
        find_problem("L1/29")
    assert find_problem("original/L1/29") == twin


@pytest.mark.parametrize("text", ["popcorn/L1/999", "popcorn/L1/logsumexp", "logsumexp", "popcorn/L1/29_softmax", "L7/1"])
def test_an_unknown_id_names_near_ones_and_the_list(text: str) -> None:
    with pytest.raises(UnknownProblem, match="popcorn problems list"):
        find_problem(text)
    if "logsumexp" in text:
        with pytest.raises(UnknownProblem, match="popcorn/L1/29"):
            find_problem(text)


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(UnknownProblem, match="expected one of popcorn, original"):
        list_problems("popcorn2")


def test_a_file_of_ours_elsewhere_is_a_problem_of_its_own(tmp_path: Path) -> None:
    one = find_problem(write(tmp_path, OURS))
    assert (one.origin, one.name, one.variant, one.level) == ("file", "mine", None, None)
    assert one.id == str(tmp_path / "7_mine.py")
    assert Problem.model_validate_json(one.model_dump_json()) == one


def test_the_dialect_of_a_file_is_seen(tmp_path: Path) -> None:
    plain = OURS.replace("from popcorn.suites.jitter import Dim\n", "").replace("Dim(64, cpu=16)", "64")
    assert find_problem(write(tmp_path, plain, "a.py")).origin == "kernelbench"
    assert find_problem(write(tmp_path, plain.replace("randn(N)", "randn(popcorn_pri.jitter_int(N))"), "b.py")).origin == "popcornbench"


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match="does not exist"):
        find_problem(str(tmp_path / "nothing.py"))
    with pytest.raises(MissingFile):
        find_problem("L1/nothing.py")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def get_inputs(:", r"not valid Python [0-9.]+ \(line 1\)"),
        (OURS.replace("class Model", "class Other") + "\n\nclass Third(Other):\n    pass\n", "defines no `Model`"),
        (OURS.replace("def get_inputs", "def inputs"), "defines no `get_inputs`"),
        (OURS.replace("return x + 1", "return x + N"), r"`Model` \(line 4\) reads the size `N`"),
        (OURS.replace("Dim(64, cpu=16)", "Dim(64, low=70)"), r"the size `N` \(line 3\)"),
        (OURS.replace("Dim(64, cpu=16)", "Dim(64, wide=70)"), "unexpected keyword"),
        (OURS + "TOLERANCE = {'float32': 1e-4}\n", "TOLERANCE_WHY"),
        (OURS + "DOMAIN = str(3)\n", "expected a literal"),
        ("x = '\x00'", "not valid Python"),
    ],
)
def test_a_file_that_breaks_the_contract_says_where(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BadProblem, match=reason):
        facts(find_problem(write(tmp_path, text)))


def test_what_is_no_python_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadProblem, match="UTF-8"):
        find_problem(str(tmp_path / "a.py"))
    (tmp_path / "b.txt").write_text("x")
    with pytest.raises(BadProblem, match=r"not a \.py file"):
        find_problem(str(tmp_path / "b.txt"))
    (tmp_path / "c.py").write_text("#" * 1_000_001)
    with pytest.raises(BadProblem, match="at most 1,000,000"):
        find_problem(str(tmp_path / "c.py"))


def test_the_hash_ignores_line_ends_and_trailing_blanks_and_nothing_else() -> None:
    assert hash_source("a = 1\nb = 2\n") == hash_source("\ufeffa = 1  \r\nb = 2\n\n\n")
    assert hash_source("a = 1\n") != hash_source("a = 2\n") and hash_source("a\n b") != hash_source("a\nb")
    assert len(hash_source("")) == 16


def test_listing_and_showing_need_no_torch() -> None:
    code = (
        "import sys; import popcorn.cli.problems; from popcorn.suites.problems import *; "
        "[(statement(one), facts(one)) for one in list_problems()]; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
