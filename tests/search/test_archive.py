"""Archive, fitness, populations: what the public bugs of other frameworks would break."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.search.archive import Archive
from popcorn.search.behaviour import reachable
from popcorn.search.fitness import bound, fitness, pooled, speedup_of
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged
from popcorn.search.strategies import Population
from tests.search.made import program, right, run


def test_a_wrong_program_never_beats_a_right_one_however_fast_it_claims_to_be():
    slow, wrong = program("a", right(0.01)), program("b", Judged(outcome="wrong_values", speedup=99.0, low=98.0, high=100.0))
    assert fitness(slow) > fitness(wrong) and speedup_of(wrong) is None


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.001, 0.5)), min_size=1, max_size=6))
def test_more_judgements_never_make_a_bound_surer_than_their_spread_allows(values):
    measures = [right(speed, half) for speed, half in values]
    mean, half = pooled(measures)
    logs = [math.log(speed) for speed, _ in values]
    assert min(logs) - 1e-9 <= mean <= max(logs) + 1e-9 and half >= 0
    assert bound(measures) <= mean + 1e-9


def test_a_noisy_fast_program_does_not_beat_a_sure_one():
    assert fitness(program("sure", right(2.0, 0.01))) > fitness(program("noisy", right(2.3, 0.4)))


def test_one_failure_among_the_judgements_is_enough():
    archive = Archive()
    first = program("a", right(2.0))
    archive.add(first)
    again = program("a", right(2.0))
    object.__setattr__(again, "measures", (right(2.0), Judged(outcome="wrong_values")))
    archive.update(again)
    assert again.outcome == "wrong_values" and not archive.elites


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(0.1, 10)), max_size=60))
def test_a_cell_that_was_found_stays_found_and_only_a_better_program_takes_it(rows):
    """OE 454: no cap on the population evicts the owner of a cell."""
    archive, best = Archive(), {}
    for step, (a, b, speed) in enumerate(rows):
        archive.add(program(str(step), right(speed), (a, b, 0), step=step))
        best[a, b, 0] = max(best.get((a, b, 0), 0.0), speed)
        assert set(archive.elites) == set(best)
    assert {cell: speedup_of(one) for cell, one in archive.elites.items()} == pytest.approx(best)


def test_incorrect_programs_live_in_the_repair_pool_and_never_in_a_cell():
    archive = Archive()
    assert archive.add(program("a", Judged(outcome="compile_error"))) == "repair"
    assert archive.add(program("b", Judged(outcome="wrong_values"), step=1)) == "repair"
    assert archive.add(program("c", Judged(outcome="cheated"), step=2)) == "none"
    assert not archive.elites and [one.id for one in archive.repairs] == ["b", "a"]
    archive.mended("b")
    assert [one.id for one in archive.repairs] == ["a"]


def test_children_land_on_their_parents_island_and_islands_know_nothing_of_each_other(tmp_path):
    """OE 40, 138, 222, 289, 391: parent, inspirations and child are of one island; every island grows; nothing crosses before migration."""
    found = run(tmp_path, strategy="islands", islands=3, evaluations=40, migrate_every=1000, repair=0.0)
    state = found.progress
    island_of = {one.id: one.island for one in state.history}
    children = [one for one in state.history if one.proposal.parents]
    seed = state.history[0].id
    assert {one.island for one in children} == {0, 1, 2}
    assert all(island_of[one.proposal.parents[0]] == one.island or one.proposal.parents[0] == seed for one in children)
    assert all(one.island == number for number, island in enumerate(state.population.islands) for one in island)
    assert state.population.moved == 0


def test_inspirations_are_of_the_same_island():
    population = Population(SearchPlan(problem="x", strategy="islands", islands=2, inspirations=8))
    for step in range(12):
        population.islands[step % 2].add(program(str(step), right(1.0 + step), (step // 2 % 4, 0, 0), step % 2, step))
    for step in range(20):
        context = population.choose(step, random.Random(step))
        assert {one.island for one in (*context.inspirations, context.parent)} == {context.island}


def test_migration_moves_the_best_to_the_next_island_and_spares_a_better_elite():
    population = Population(SearchPlan(problem="x", strategy="islands", islands=3))
    population.islands[0].add(program("good", right(3.0), (1, 0, 0), 0))
    population.islands[1].add(program("better", right(5.0), (1, 0, 0), 1))
    population.islands[2].add(program("poor", right(1.0), (1, 0, 0), 2))
    gone = population.migrate()
    assert [(one.id, to) for one, to in gone] == [("better", 2)], "an island's own better elite stays"
    assert population.islands[1].elites[1, 0, 0].id == "better" and population.islands[2].elites[1, 0, 0].id == "better"


def test_a_migrated_program_that_turns_out_wrong_leaves_every_island(tmp_path):
    found = run(tmp_path, strategy="islands", islands=2, evaluations=30, migrate_every=5)
    state = found.progress
    assert state.population.moved > 0
    _, identity, _ = state.migrations[-1]
    state.measured_again(state.now(identity), Judged(outcome="wrong_values"))
    assert all(one.id != identity for island in state.population.islands for one in island)


def test_coverage_counts_reachable_cells_alone():
    archive = Archive()
    archive.add(program("a", right(1.0), (0, 0, 0)))
    archive.add(program("b", right(1.0), (3, 3, 3), step=1))
    assert len(reachable("c")) == 64 and archive.coverage(reachable("c")) == pytest.approx(2 / 64)
    assert archive.coverage(reachable("torch")) == pytest.approx(1 / len(reachable("torch")))


def test_the_grid_agrees_with_pyribs():
    """The small grid built in finds what pyribs' archive finds from the same programs."""
    ribs = pytest.importorskip("ribs.archives")
    archive, rng = Archive(), random.Random(4)
    theirs = ribs.GridArchive(solution_dim=1, dims=[4, 4, 4], ranges=[(-0.5, 3.5)] * 3)
    for step in range(300):
        cell = tuple(rng.randrange(4) for _ in range(3))
        speed = rng.uniform(0.5, 5)
        archive.add(program(str(step), right(speed), cell, step=step))
        theirs.add_single([step], bound([right(speed)]), cell)
    found = theirs.data()
    ours = {tuple(one): int(solution[0]) for one, solution in zip(found["measures"].astype(int), found["solution"], strict=True)}
    assert ours == {cell: one.step for cell, one in archive.elites.items()}
    assert archive.coverage(reachable("c")) == pytest.approx(theirs.stats.coverage)


def test_best_of_n_always_asks_about_the_seed_and_greedy_about_the_best(tmp_path):
    asked = run(tmp_path / "a", strategy="best_of_n").progress
    assert {one.proposal.parents for one in asked.history[1:]} == {(asked.history[0].id,)}
    population = Population(SearchPlan(problem="x", strategy="greedy"))
    for step, speed in enumerate((1.0, 4.0, 2.0)):
        population.learn(program(str(step), right(speed), (step, 0, 0), step=step))
    assert {population.choose(step, random.Random(step)).parent.id for step in range(10)} == {"1"}
