"""`popcorn search list`, for people and for programs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from popcorn.cli.search import app


def test_searches_are_listed_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path))
    for name, day in (("old", 1), ("new", 2)):
        folder = tmp_path / "searches" / name
        folder.mkdir(parents=True)
        (folder / "search.json").write_text(json.dumps({"started": f"2026-01-0{day}", "method": "greedy", "evaluations": 6}))
    (tmp_path / "searches" / "torn").mkdir()
    (tmp_path / "searches" / "torn" / "search.json").write_text('{"started": "20')
    (tmp_path / "searches" / "new" / "best.json").write_text(json.dumps({"speedup": 1.5}))
    rows = json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout)
    assert [(row["id"], row["speedup"]) for row in rows] == [("new", 1.5), ("old", None), ("torn", None)]
    told = CliRunner().invoke(app, ["list"]).stdout.splitlines()
    assert told[0].startswith("new") and "1.50×" in told[0] and "—" in told[1] and told[2].startswith("torn")
