"""The matrix is strict, extends, and names the nearest key; ids change with meaning and with nothing else."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.errors import BadSweep, PopcornError
from popcorn.suites.problems import list_problems
from popcorn.sweep.jobs import agent_jobs
from popcorn.sweep.matrix import Matrix, make_matrix, read_matrix

ROOT = Path(__file__).parents[2]
NAMED = [
    "smoke",
    "l12_single",
    "l12_default",
    "l12_all",
    "l34_single",
    "l34_default",
    "l34_all",
    "comm",
    "ae_focus_popcorn",
    "ae_focus_original",
    "h100_kernels",
]
SMALL = {"name": "small", "levels": [1], "models": ["scripted/steady", "baseline/eager"], "tiers": ["single", "all"]}


def ids(**changes) -> list[str]:
    return [job.id for job in agent_jobs(make_matrix({**SMALL, **changes}, "small"))]


@pytest.mark.parametrize("name", NAMED)
def test_every_named_sweep_reads_and_is_a_few_lines_over_one_base(name):
    path = ROOT / "sweeps" / f"{name}.toml"
    assert read_matrix(path).summary
    assert len(path.read_text().splitlines()) <= 25
    assert name == "h100_kernels" or "extends" in path.read_text()


def test_the_smoke_sweep_is_two_variants_three_tiers_four_problems_three_models():
    matrix = read_matrix(ROOT / "sweeps" / "smoke.toml")
    jobs = agent_jobs(matrix)
    assert len(jobs) == 2 * 4 * 3 * 3
    assert Counter(problem.partition("/")[0] for problem in {job.problem for job in jobs}) == {"original": 4, "popcorn": 4}


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"modles": ["x"]}, "nearest is 'models'"), ({"budgets": {"turn": 3}}, "nearest is 'turns'"), ({"agents_per_gpu": 0}, "agents_per_gpu"),
        ({"variants": ["mine"]}, "variants"), ({"levels": []}, "levels or problems missing"), ({"name": "../up"}, "name"), ({"retries": {"timeout": 3}}, "nearest"),
        ({"language": "trition"}, "language is 'trition'; expected one of auto, torch, triton"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_the_key_and_what_was_expected(tables, said):
    with pytest.raises(BadSweep, match=said):
        make_matrix({**SMALL, **tables}, "small.toml")


def test_files_extend_one_another_and_a_circle_is_told(tmp_path):
    (tmp_path / "low.toml").write_text('levels = [1]\nmodels = ["scripted/steady"]\ntiers = ["all"]\n[budgets]\nturns = 3\ntokens = 100\n')
    (tmp_path / "high.toml").write_text('extends = "low.toml"\ntiers = ["single"]\n[budgets]\nturns = 5\n')
    matrix = read_matrix(tmp_path / "high.toml")
    assert (matrix.name, matrix.tiers, matrix.budgets.turns, matrix.budgets.tokens) == ("high", ("single",), 5, 100)
    (tmp_path / "low.toml").write_text('extends = "high.toml"\n')
    with pytest.raises(BadSweep, match="extends itself"):
        read_matrix(tmp_path / "high.toml")
    with pytest.raises(BadSweep, match="cannot be read"):
        read_matrix(tmp_path / "none.toml")


def test_an_unknown_problem_or_model_is_told_before_anything_begins():
    for changes in ({"problems": ["original/L1/9999"]}, {"models": ["nobody"]}, {"tiers": ["none"]}):
        with pytest.raises(PopcornError):
            ids(**changes)


def test_ids_are_stable_and_change_with_meaning_alone():
    assert ids() == ids()
    assert len(set(ids(repeats=3))) == 3 * len(ids())
    assert set(ids()) < set(ids(repeats=3)), "a repeat more does not disturb the first"
    same = [{"name": "other"}, {"agents_per_gpu": 9}, {"retries": {"api_error": 7}}, {"limits": {"hours": 2.0}}, {"summary": "x"}]
    assert all(ids(**change) == ids() for change in same)
    others = [
        {"budget_s": 3.0},
        {"precision": "bfloat16"},
        {"trials": 9},
        {"language": "triton"},
        {"budgets": {"tool_calls": 2}},
        {"timeout_s": 5.0},
        {"control": False},
        {"worker_timeout_s": 99.0},
    ]
    assert all(not set(ids(**change)) & set(ids()) for change in others)
    for tier, alike in (("single", True), ("all", False)):
        assert (ids(tiers=[tier], budgets={"turns": 2}) == ids(tiers=[tier])) is alike, "without tools there is one answer"


def test_the_model_s_row_and_the_problem_s_text_are_in_the_id(tmp_path):
    row = {"provider": "openai-api/x/y", "endpoint": "http://127.0.0.1:1/v1", "effort": "low"}
    asked = {"models": ["mine"], "problems": ["original/L1/36"]}
    first = ids(**asked, model={"mine": row})
    assert ids(**asked, model={"mine": row | {"connections": 3, "price": {"input": 1, "cached": 1, "output": 1}}}) == first
    assert not set(ids(**asked, model={"mine": row | {"effort": "high"}})) & set(first)
    with pytest.raises(BadSweep, match="no row"):
        ids(**asked, model={"mine": {"privder": "x"}})
    file = tmp_path / "own.py"
    source = Path(next(one.path for one in list_problems() if one.id == "original/L1/36")).read_text()
    file.write_text(source)
    before = ids(problems=[str(file)], levels=[])
    file.write_text(source.replace("eps", "epsilon") + "\n# changed\n")
    assert not set(before) & set(ids(problems=[str(file)], levels=[]))


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=12), st.none() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=4), max_size=2), max_size=4
    )
)
def test_any_table_is_a_matrix_or_one_sentence(tables):
    try:
        assert isinstance(make_matrix({**SMALL, **tables}, "any"), Matrix)
    except BadSweep as error:
        assert str(error).startswith("any:")


def test_kernels_that_communicate_are_left_to_a_sweep_of_their_own():
    broad = agent_jobs(read_matrix(ROOT / "sweeps" / "l12_default.toml"))
    comm = agent_jobs(read_matrix(ROOT / "sweeps" / "comm.toml"))
    assert {job.problem for job in comm} == {f"popcorn/L2/{number}" for number in (2, 11, 18, 27, 34, 38)}
    assert not {job.problem for job in comm} & {job.problem for job in broad}


def test_a_file_elsewhere_extends_what_sweeps_has_and_what_nobody_has_is_said(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "smoke.toml"\nrepeats = 3\n')
    assert read_matrix(mine).repeats == 3 and read_matrix(mine).problems
    mine.write_text('extends = "nobody.toml"\n')
    with pytest.raises(BadSweep, match=r"extends nobody\.toml, which is neither beside it nor in sweeps/"):
        read_matrix(mine)
    with pytest.raises(BadSweep, match=r"there is no sweep nobody; .*l12_default"):
        read_matrix("nobody")
