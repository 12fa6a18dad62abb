"""Kill -9 anywhere: the search goes on and ends with the same archive, bandit, prompts, as one that nobody disturbed."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from popcorn.search.bandit import Bandit

ROOT = Path(__file__).parents[2]
POINTS = random.Random(20261129).sample(range(110), 20)


@pytest.mark.parametrize("strategy", ["map_elites", "islands"])
def test_twenty_kills_at_random_points_change_nothing(tmp_path, strategy):
    command = [sys.executable, "-m", "tests.search.killed", str(tmp_path), strategy, *map(str, POINTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    whole, *rows = done.stdout.split("\n")[:-1]
    ended = [row.split() for row in rows]
    assert len(ended) == 20 and {name for name, _ in ended} == {whole}
    assert sum(how == "9" for _, how in ended) >= 15, "most points lie inside the search"


def test_a_bandit_survives_a_changed_list_of_models():
    """SE 129: state is kept by name."""
    bandit = Bandit(("a", "b"))
    for _ in range(10):
        bandit.learn("a", 0.9)
        bandit.learn("b", -0.5)
    other = bandit.restricted(["c", "a"])
    assert other.choose(random.Random(0)) == "c", "a new one is tried first"
    other.learn("c", -1.0)
    other.learn("c", -1.0)
    assert {other.choose(random.Random(i)) for i in range(5)} == {"a"}
