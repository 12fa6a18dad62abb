"""The result card: everything a person wants to know of a record, from the record alone, within 100 columns."""

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from popcorn.cli import facts_of
from popcorn.cli.outcomes import heading, next_step
from popcorn.cli.plain import plain
from popcorn.cli.printing import print_within
from popcorn.schema.measurement import Samples, Timing
from popcorn.schema.record import Record
from popcorn.schema.verdict import Verdict
from popcorn.units import UNKNOWN, show_time

_DIAGNOSTICS = 5


def print_card(record: Record, console: Console | None = None) -> None:
    """Print the card on stdout, or on the console given."""
    print_within(card(record), console)


def card(record: Record) -> Group:
    """The whole card."""
    parts: list[RenderableType] = [_title(record), _rows(_about(record))]
    timing = record.measurement.timing
    if timing is not None:
        parts += [Text(), _times(timing), Text(), _rows(_measured(record, timing))]
    return Group(*parts, _rows(_origin(record)), Text())


def short_card(record: Record) -> Group:
    """Outcome, reason, times: for several results in a row."""
    parts: list[RenderableType] = [_title(record), _rows(_short(record))]
    if record.measurement.timing is not None:
        parts.append(_times(record.measurement.timing))
    return Group(*parts, Text())


def _title(record: Record) -> Text:
    good = record.verdict.correct
    title = Text(heading(record.verdict), style="bold green" if good else "bold red")
    timing = record.measurement.timing
    if timing is not None:
        title.append(f" · {facts_of.comparison(timing)}", style="bold")
        if timing.control.fit is False:
            title.append("\nUNFIT RUN: the machine is too noisy for a claim", style="bold yellow")
    return title


def _about(record: Record) -> Iterator[tuple[str, str]]:
    verdict, problem = record.verdict, plain(record.subject.problem, 120)
    if not verdict.correct:
        yield from _failure(record)
    yield "problem", f"{problem} · {record.subject.problem_hash}"
    yield "candidate", facts_of.candidate(record)
    yield "case", facts_of.setting(record)
    yield "device", facts_of.device(record)
    yield "trials", facts_of.trials(record)
    if verdict.precision:
        yield "precision", facts_of.precision(verdict.precision)
    if verdict.correct and record.measurement.timing is None:
        yield "time", facts_of.unknown("it was not timed")


def _failure(record: Record) -> Iterator[tuple[str, str]]:
    verdict = record.verdict
    stage = f" (while {_STAGES[verdict.stage]})" if verdict.stage else ""
    if verdict.violations:
        yield from _caught(verdict)
    else:
        yield "why", plain(verdict.reason or record.build.reason or "no reason was recorded", 600) + stage
    for found in record.build.diagnostics[:_DIAGNOSTICS]:
        where = f"{plain(found.file, 60)}:{found.line}: " if found.file and found.line else ""
        yield found.severity, where + plain(found.message, 300)
    if len(record.build.diagnostics) > _DIAGNOSTICS:
        yield "", f"and {len(record.build.diagnostics) - _DIAGNOSTICS} more messages in the record"
    yield "next", next_step(verdict, plain(record.subject.problem, 120))


_STAGES = {"build": "building", "load": "loading", "correctness": "judging", "timing": "timing", "counting": "counting"}


def _caught(verdict: Verdict) -> Iterator[tuple[str, str]]:
    for violation in verdict.violations:
        yield "caught by", f"{plain(violation.defence, 60)}: {plain(violation.evidence, 400)}"


def _measured(record: Record, timing: Timing) -> Iterator[tuple[str, str]]:
    measured = record.measurement
    if measured.ranks is not None:
        yield "ranks", facts_of.ranks(measured.ranks)
    yield "host", facts_of.host(timing.candidate)
    yield "memory", facts_of.memory(measured.memory)
    yield "launches", facts_of.launches(measured.launches)
    yield "speed of light", facts_of.speed_of_light(measured.roofline)
    yield "energy", facts_of.energy(measured.energy)
    yield "counters", facts_of.counters(measured)
    yield "controls", facts_of.controls(timing)
    if timing.control.fit is False:
        yield "", plain(timing.control.reason or "no reason was recorded", 400)
    if (paired := facts_of.paired(timing)) is not None:
        yield "speedups", paired
    odd = facts_of.warm_above_cold(timing)
    if odd:
        yield "warm", odd
    yield "method", facts_of.method(timing)


def _origin(record: Record) -> Iterator[tuple[str, str]]:
    yield "time spent", facts_of.build(record)
    for note in record.verdict.notes[:5]:
        yield "note", plain(note, 200)
    if record.verdict.correct:
        yield from _caught(record.verdict)
    yield "record", f"{plain(record.id, 40)} · again: popcorn rerun {plain(record.id, 40)}"


def _short(record: Record) -> Iterator[tuple[str, str]]:
    yield "candidate", facts_of.candidate(record)
    if record.verdict.violations:
        yield from _caught(record.verdict)
    elif not record.verdict.correct:
        yield "why", plain(record.verdict.reason or "no reason was recorded", 400)
    elif record.verdict.precision:
        yield "precision", facts_of.precision(record.verdict.precision)
    yield "record", plain(record.id, 40)


def _rows(rows: Iterator[tuple[str, str]]) -> Table:
    """Label and value; a long value folds under itself. Text, never markup."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, width=14)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(label, style="dim"), Text(value))
    return table


def _times(timing: Timing) -> Table:
    """One row a side: time per call, its interval, warm, and the candidate's speedup over it."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("", "time", "95 % interval", "warm", "speedup"):
        table.add_column(column, overflow="fold")
    table.add_row(Text("candidate"), *_samples(timing.candidate), Text())
    table.add_row(Text("eager"), *_samples(timing.baseline), Text(facts_of.ratio_between(timing.speedup)))
    if timing.compiled is not None:
        ratio = facts_of.ratio_between(timing.speedup_compiled) if timing.speedup_compiled else UNKNOWN
        table.add_row(Text("torch.compile"), *_samples(timing.compiled), Text(ratio))
    else:
        table.add_row(Text("torch.compile"), Text(UNKNOWN), Text(plain(timing.compiled_reason or "no reason was recorded", 120)))
    return table


def _samples(samples: Samples) -> tuple[Text, Text, Text]:
    return Text(show_time(samples.time_s)), Text(facts_of.time_between(samples)), Text(show_time(samples.warm_time_s))
