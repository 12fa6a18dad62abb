"""Runs as tables: runs.parquet, turns.parquet, calls.parquet. Kernels, prompts and results stay whole; what is nested is JSON text."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from popcorn.records.runs import read_runs
from popcorn.schema.run import Run

_TOKENS = ("input", "cached", "output", "reasoning", "total")
_MOST_BYTES = 256 << 20
_NUMBERS = {"index": "BIGINT", "repeat": "BIGINT", "retries": "BIGINT", "position": "BIGINT", "speedup": "DOUBLE", "turn": "BIGINT"}
_FLAGS = {"truncated", "final", "ok"}
_ENDINGS = (("_s", "DOUBLE"), ("_usd", "DOUBLE"), ("_tokens", "BIGINT"), ("tool_calls", "BIGINT"), ("max_turns", "BIGINT"))


def write_tables(source: Path | Iterable[Run], folder: Path) -> dict[str, int]:
    """Three Parquet files from runs, or from a folder of runs; each appears whole or not at all. Table → rows."""
    runs = read_runs(source) if isinstance(source, Path) else list(source)
    rows: dict[str, list[dict[str, Any]]] = {"runs": [], "turns": [], "calls": []}
    for run in runs:
        rows["runs"].append(_flat(run.model_dump(mode="json", exclude={"turns"})) | {"turns": len(run.turns)})
        for turn in run.turns:
            rows["turns"].append({"run_id": run.id, **_flat(turn.model_dump(mode="json", exclude={"calls"}))})
            for position, call in enumerate(turn.calls):
                dumped = call.model_dump(mode="json")
                texts = {name: json.dumps(dumped.pop(name)) for name in ("arguments", "data")}
                rows["calls"].append({"run_id": run.id, "turn": turn.index, "position": position, **dumped, **texts})
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in rows.items():
        if found:
            _write(found, folder / f"{name}.parquet")
    return {name: len(found) for name, found in rows.items()}


def _flat(dumped: dict[str, Any]) -> dict[str, Any]:
    """Tokens as columns of their own: `input_tokens`, `cached_tokens`, …"""
    tokens = dumped.pop("tokens", {}) or {}
    return dumped | {f"{name}_tokens": tokens.get(name) for name in _TOKENS}


def _type(name: str) -> str:
    if name in _FLAGS:
        return "BOOLEAN"
    if name in _NUMBERS:
        return _NUMBERS[name]
    return next((kind for ending, kind in _ENDINGS if name.endswith(ending)), "BIGINT" if name == "turns" else "VARCHAR")


def _write(rows: list[dict[str, Any]], path: Path) -> None:
    import duckdb

    kinds = ", ".join(f"'{name}': '{_type(name)}'" for name in rows[0])
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".table-") as place:
        lines, made = Path(place) / "rows.jsonl", Path(place) / "rows.parquet"
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        quoted = [str(one).replace("'", "''") for one in (lines, made)]
        read = f"read_json('{quoted[0]}', format = 'newline_delimited', columns = {{{kinds}}}, maximum_object_size = {_MOST_BYTES})"
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT * FROM {read}) TO '{quoted[1]}' (FORMAT parquet, COMPRESSION zstd)")
        made.replace(path)
