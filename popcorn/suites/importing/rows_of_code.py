"""Rows that hold problems as text (JSON, JSONL, CSV, Parquet), as data sets of KernelBench are handed around → a folder that the reader of folders knows."""

import ast
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from popcorn.errors import BadProblem
from popcorn.suites.facts import naming_model
from popcorn.suites.importing.found import MAX_BYTES, MAX_FILES, holds_problem, read_json, snake

SUFFIXES = (".jsonl", ".csv", ".parquet")
_SHOWN = 8


def files_of_rows(folder: Path) -> list[Path]:
    """The files of rows of a data set as it is downloaded: those of a folder without Python files, or of its folder `data`."""
    inside = [path for path in (*folder.glob("*"), *folder.glob("data/*")) if path.is_file()]
    return [] if any(path.suffix == ".py" for path in inside) else sorted(path for path in inside if path.suffix in SUFFIXES)


def unpack(path: Path, into: Path) -> Path:
    """A folder below `into`, named as the file, with one .py a row: `level1/23_softmax.py` where columns tell level, number and name.

    Raises BadProblem where no column holds code with class Model and get_inputs, naming the columns that there are.
    """
    folder = into / path.stem
    column = None
    for number, row in enumerate(map(_opened, _rows(path)), 1):
        if number > MAX_FILES:
            raise BadProblem(f"{path} has more than {MAX_FILES:,} rows; give a part of it")
        column = column or next((name for name, value in row.items() if _problem(row, value) is not None), None)
        if column is None and number > _SHOWN:
            break
        text = None if column is None else _problem(row, row.get(column)) or row.get(column)
        if isinstance(text, str):
            file = folder / _place(row, number)
            if file.exists():  # a number that several levels have, where no column tells the level
                file = file.with_stem(f"{file.stem}_{number}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", errors="replace")
    if column is None:
        names = ", ".join(str(name)[:40] for name in list(next(_rows(path), {}))[:_SHOWN]) or "none"
        raise BadProblem(f"{path} has no column with KernelBench-style code (class Model and get_inputs); its columns: {names}")
    return folder


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        yield from _parquet_rows(path)
        return
    if path.suffix == ".json":
        rows = read_json(path)
        if isinstance(rows, dict):  # lists of rows by level or split, or texts by name
            lists = all(isinstance(value, list) for value in rows.values())
            rows = (
                [row for value in rows.values() for row in value]
                if lists
                else [{"name": key, "code": value} for key, value in rows.items()]
            )
        if not (rows and isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            raise BadProblem(f"{path} is no list of rows; expected [{{...}}, ...] with a column of code, or give a folder")
        yield from rows
        return
    csv.field_size_limit(MAX_BYTES)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            if path.suffix == ".csv":
                yield from csv.DictReader(file)
                return
            for number, line in enumerate(file, 1):
                row = json.loads(line) if line.strip() else {}
                if not isinstance(row, dict):
                    raise BadProblem(f"{path}:{number}: expected a JSON object a line")
                yield row
        except (ValueError, RecursionError, csv.Error) as error:
            raise BadProblem(f"{path} cannot be read as {path.suffix[1:].upper()} ({str(error)[:200]})") from None


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    import duckdb

    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        try:
            asked = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
            names = [one[0] for one in asked.description or ()]
            while rows := asked.fetchmany(100):
                yield from (dict(zip(names, row, strict=True)) for row in rows)
        except duckdb.Error as error:
            raise BadProblem(f"{path} cannot be read as PARQUET ({str(error)[:200]})") from None


def _opened(row: dict[str, Any]) -> dict[str, Any]:
    """A row with what lies in cells that are tables themselves, as rows for reinforcement learning have it (`extra_info`, `reward_model`), and what is
    said in conversations (`messages`), by place."""
    said = {
        f"{name} {place}": one.get("content")
        for name, cell in row.items()
        if isinstance(cell, list)
        for place, one in enumerate(cell)
        if isinstance(one, dict)
    }
    return said | {name: value for cell in row.values() if isinstance(cell, dict) for name, value in cell.items()} | row


def _problem(row: dict[str, Any], value: object) -> str | None:
    """The problem in a cell; its class may have the name that the column `entry_point` tells (KernelBook), and becomes Model. None for any other."""
    if not isinstance(value, str):
        return None
    entry = row.get("entry_point")
    if (
        not holds_problem(value)
        and isinstance(entry, str)
        and entry.isidentifier()
        and re.search(rf"^class {entry}\b", value, re.MULTILINE)
    ):
        value = naming_model(value, entry)
    return _code(value) if holds_problem(value) else None


def _code(text: str) -> str:
    """A text that is code as it is; of one that holds some between fences, a question to a model, the last that is a problem: examples come first."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        fenced = [block for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if holds_problem(block)]
        return fenced[-1] if fenced else text
    return text


def _place(row: dict[str, Any], number: int) -> str:
    level, group, own, name, entry = (
        "" if row.get(key) is None else str(row[key]) for key in ("level", "group", "problem_id", "name", "entry_point")
    )
    level = (level or group).removeprefix("level_").removeprefix("level")
    own = own or name.partition("_")[0]
    stem = re.sub(r"^\d+_+", "", name or entry).removesuffix(".py")
    file = f"{own if re.fullmatch(r'[0-9]{1,5}', own) else number}_{snake(stem)[:60] if stem else 'row'}.py"
    return f"level{level}/{file}" if re.fullmatch(r"[0-9]{1,2}", level) else file
