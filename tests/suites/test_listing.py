"""What lists say of problems: kept by content, read anew when a text or the reader changes, never taken from a file that is not ours."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from popcorn.errors import BadProblem
from popcorn.suites import listing
from popcorn.suites.listing import listed_facts
from popcorn.suites.problems import facts, find_problem, list_problems

TEXT = '''"""One product."""
from popcorn.suites.jitter import Dim
N = Dim({size})
DOMAIN = "{domain}"
class Model: ...
def get_inputs(): ...
'''


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "listing" / "problems.json"


@pytest.fixture
def parsed(monkeypatch):
    """Ids whose text was parsed."""
    asked = []
    monkeypatch.setattr(listing, "facts", lambda problem: asked.append(problem.id) or facts(problem))
    return asked


def write(path, size=64, domain="algebra"):
    path.write_text(TEXT.format(size=size, domain=domain))
    return find_problem(str(path))


def test_a_second_list_parses_nothing_and_says_the_same(cache, parsed):
    problems = list_problems(level=1)[:20]
    first = listed_facts(problems)
    assert parsed == [one.id for one in problems]
    assert listed_facts(problems) == first and len(parsed) == 20
    for one, told in zip(problems, first, strict=True):
        whole = facts(one)
        assert [dim.parts() for dim in told.dims.values()] == [dim.parts() for dim in whole.dims.values()]
        assert (told.dialect, told.dims, told.domain, told.differentiable, told.summary) == (
            whole.dialect, whole.dims, whole.domain, whole.differentiable, whole.summary,
        )  # fmt: skip


def test_an_edited_an_added_and_a_removed_problem_are_each_told_as_they_are_now(tmp_path, parsed):
    a, b = write(tmp_path / "a.py"), write(tmp_path / "b.py", size=32)
    assert [int(told.dims["N"]) for told in listed_facts([a, b])] == [64, 32]
    a = write(tmp_path / "a.py", domain="graphs")
    c = write(tmp_path / "c.py", size=128)
    assert [(told.domain, int(told.dims["N"])) for told in listed_facts([a, c])] == [("graphs", 64), ("algebra", 128)]
    assert parsed == [a.id, b.id, a.id, c.id]


def test_another_reader_reads_everything_anew(tmp_path, parsed, monkeypatch):
    one = write(tmp_path / "a.py")
    listed_facts([one])
    monkeypatch.setattr(listing, "_reader", lambda: "of a newer Popcorn")
    listed_facts([one])
    assert parsed == [one.id, one.id]


def junk(kept):
    """Files that this module did not write whole."""
    (name,) = kept["answers"]
    right = kept["answers"][name]
    yield json.dumps(kept)[:-7]
    yield "\x00\xff" * 50
    yield "[" * 100_000
    yield json.dumps([])
    yield json.dumps({**kept, "answers": [1]})
    for broken in (None, 3, [], right[:-1], ["shell", *right[1:]], [right[0], {"N": [64]}, *right[2:]], [right[0], {"N": [64, 99, 1, 1, 64, False, []]}, *right[2:]],
                   [*right[:2], 7, *right[3:]], [*right[:-1], "\x1b[2J"], [*right[:3], "yes", right[4]]):  # fmt: skip
        yield json.dumps({**kept, "answers": {name: broken}})


def test_a_torn_or_hostile_file_is_made_again(tmp_path, cache, parsed):
    one = write(tmp_path / "a.py")
    (right,) = listed_facts([one])
    kept = json.loads(cache.read_text())
    for count, text in enumerate(junk(kept), 2):
        cache.write_text(text)
        assert listed_facts([one]) == [right], text[:100]
        assert len(parsed) == count, text[:100]
        assert json.loads(cache.read_text()) == kept, text[:100]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=6)
                    | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=12))  # fmt: skip
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_is_either_an_answer_or_none(value):
    told = listing._listed(value)
    assert told is None or listing._listed(listing._kept(told)) == told


def test_what_a_verdict_depends_on_reads_the_text_itself(tmp_path, cache):
    one = write(tmp_path / "a.py")
    listed_facts([one])
    kept = json.loads(cache.read_text())
    (name,) = kept["answers"]
    kept["answers"][name][2] = "another domain"
    cache.write_text(json.dumps(kept))
    assert listed_facts([one])[0].domain == "another domain", "a list believes what is well formed"
    assert facts(one).domain == "algebra", "and nothing else does"


def test_a_list_works_where_nothing_can_be_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "file"))
    assert listed_facts([write(tmp_path / "a.py")])[0].domain == "algebra"


def test_a_text_that_breaks_the_contract_is_told_and_not_kept(tmp_path, cache):
    one = write(tmp_path / "a.py")
    bad = one.model_copy(update={"source": "class Model: ...", "hash": "0" * 16})
    with pytest.raises(BadProblem, match="get_inputs"):
        listed_facts([one, bad])
    assert not cache.exists()
