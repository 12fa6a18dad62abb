"""Every claim has its script, and every script its place."""

import re
from pathlib import Path

from benchmarks.run_all import BOTH, BY_HAND, FOLDER, GPU, scripts

TABLE = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_script_of_the_table_is_there():
    named = set(re.findall(r"\]\(([a-z0-9_]+\.py)\)", TABLE))
    assert named and all((FOLDER / name).is_file() for name in named)
    linked = set(re.findall(r"\]\((\.\./[^)#]+)\)", TABLE))
    assert linked and all((FOLDER / path).exists() for path in linked)


def test_every_script_runs_with_all_others_or_says_why_not():
    there = {path.name for path in Path(FOLDER).glob("*.py")} - {"run_all.py"}
    assert set(scripts(gpu=False)) | set(GPU) | set(BY_HAND) == there
    assert set(GPU) >= BOTH and not set(scripts(gpu=False)) & set(BY_HAND)


def test_every_row_of_the_table_has_a_target_a_figure_a_machine_a_date_and_a_script():
    rows = [line for line in TABLE.splitlines() if line.startswith("| ") and not line.startswith("| target")]
    measured = rows[: next((i for i, line in enumerate(rows) if line.count(" | ") < 4), len(rows))]
    assert len(measured) > 30
    for row in measured:
        assert len(re.split(r" \| ", row.strip("| "))) == 5, row[:80]
