"""The columns of a table of records, read off the Record type itself: a field added there is a column here. Free of torch."""

import functools
import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from popcorn.schema.record import Record
from popcorn.schema.verdict import group

_PREFIXES = {
    "subject": "",
    "provenance": "",
    "measurement": "",
    "measurement.timing": "",
    "measurement.timing.candidate": "",
    "measurement.timing.baseline": "baseline",
    "measurement.timing.compiled": "compiled",
    "measurement.timing.speedup": "speedup",
    "measurement.timing.speedup_compiled": "speedup_compiled",
    "measurement.timing.control": "control",
    "measurement.timing.control.aa": "control_aa",
    "measurement.timing.control.planted": "control_planted",
}
"""What stands before the names of a nested noun's fields; elsewhere the name of the noun itself."""

_NAMES = {
    "verdict.outcome": "outcome",
    "measurement.roofline.sol": "sol",
    "measurement.roofline.sol_source": "sol_source",
    "measurement.roofline.bound": "bound",
    "measurement.energy.baseline_energy_j": "baseline_energy_j",
    "measurement.timing.method": "timing_method",
    "measurement.timing.stopped_by": "timing_stopped_by",
}

_SCALARS = {str: "VARCHAR", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}


@dataclass(frozen=True)
class Column:
    """One column: units are in its name, as they are in the field's."""

    name: str
    """`time_s`, `baseline_time_s`, `speedup_low`, `machine_device_id`, …"""
    path: tuple[str, ...]
    """Where its value lies in a record; empty for the two that are worked out."""
    sql_type: str
    """DuckDB's type: VARCHAR, BOOLEAN, BIGINT, DOUBLE, lists of these, or JSON for what is nested deeper."""


@functools.cache
def columns() -> tuple[Column, ...]:
    """Every column, in the order of the record's fields. `case_id` and `outcome_group` are worked out from the others."""
    found = (*_walk(Record, ()), Column("case_id", (), "VARCHAR"), Column("outcome_group", (), "VARCHAR"))
    names = [column.name for column in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise TypeError(f"two fields of Record would share a column: {', '.join(sorted(twice))}; name one of them in records/columns.py")
    return found


def flatten(record: Record) -> dict[str, Any]:
    """The record as one row: column name → value; what is unknown is None."""
    dumped = record.model_dump(mode="json")
    row: dict[str, Any] = {}
    for parents, leaves in _nouns():  # one walk a noun, not one a column: half of the time of a large table
        noun = dumped
        for name in parents:
            noun = noun[name] if noun is not None else None
        row.update((column, noun[leaf] if noun is not None else None) for column, leaf in leaves)
    return {**row, "case_id": record.case.id, "outcome_group": group(record.verdict.outcome)}


def unflatten(row: Mapping[str, Any]) -> Record:
    """The record of a row as a table gives it: the way back from `flatten`. JSON columns may be text. Raises ValidationError."""
    nested: dict[str, Any] = {}
    for column in columns():
        value = row.get(column.name)
        if not column.path or value is None:
            continue
        place = nested
        for name in column.path[:-1]:
            place = place.setdefault(name, {})
        place[column.path[-1]] = json.loads(value) if column.sql_type == "JSON" and isinstance(value, str) else value
    return Record.model_validate(nested)


@functools.cache
def _nouns() -> tuple[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], ...]:
    """(where a noun lies in a record, its fields as (column, field)), for each noun."""
    found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for column in columns():
        if column.path:
            found.setdefault(column.path[:-1], []).append((column.name, column.path[-1]))
    return tuple((parents, tuple(leaves)) for parents, leaves in found.items())


def _walk(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[Column]:
    for name, field in model.model_fields.items():
        here = (*path, name)
        inner = _without_none(field.annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _walk(inner, here)
        else:
            yield Column(_name(here), here, _sql_type(inner))


def _name(path: tuple[str, ...]) -> str:
    dotted = ".".join(path)
    if dotted in _NAMES:
        return _NAMES[dotted]
    *parents, leaf = path
    if not parents:
        return leaf
    prefix = _PREFIXES.get(".".join(parents), parents[-1])
    if not prefix or leaf.startswith(f"{prefix}_"):  # build.build_s is build_s
        return leaf
    return prefix if leaf == "value" else f"{prefix}_{leaf}"


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else annotation
    return annotation


def _sql_type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return _SCALARS[type(get_args(annotation)[0])]
    if get_origin(annotation) is tuple:
        inner = _sql_type(get_args(annotation)[0])
        return "JSON" if inner == "JSON" else f"{inner}[]"
    return _SCALARS.get(annotation, "JSON")
