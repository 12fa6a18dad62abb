"""The card: every outcome, two widths, hostile texts, and the record's own numbers."""

import io
import re

import pytest
from hypothesis import given, settings
from rich.cells import cell_len
from rich.console import Console

from popcorn.cli.card import card, print_card, short_card
from popcorn.cli.facts_of import speed_of_light
from popcorn.cli.outcomes import NEXT_STEPS, OF_RULES, WORDS, heading, next_step
from popcorn.schema.measurement import Control, Energy, Interval, Launches, Measurement, Memory, Roofline
from popcorn.schema.record import Build, Subject
from popcorn.schema.verdict import OUTCOMES, Miss, Verdict, Violation
from popcorn.units import show_bytes, show_energy, show_percent, show_ratio, show_time
from tests.made_records import make_record, make_timing, records, with_diagnostics

HOSTILE = "[red]x[/red] \x1b[31m \x1b]8;;http://x\x07 \r\n\u202e \u05d0 [/] [link=file:///etc]"


def show(record, width=100, colour=False, of=None):
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=colour, highlight=False, emoji=False, legacy_windows=False)
    if of is None:
        print_card(record, console)
    else:
        console.print(of(record))
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_has_a_card_that_fits(outcome, width):
    text = show(make_record(outcome), width)
    assert all(cell_len(line) <= min(width, 100) for line in text.splitlines())
    assert text.startswith(WORDS[outcome])
    assert "popcorn rerun " + make_record(outcome).id in " ".join(text.split())
    if outcome != "correct":
        assert next_step(make_record(outcome).verdict, "original/L1/36").split(";")[0][:40] in " ".join(text.split())
        assert "speedup" not in text and "energy" not in text


def test_the_tables_of_words_and_next_steps_cover_the_closed_set():
    assert set(WORDS) == set(NEXT_STEPS) == set(OUTCOMES)
    assert all(step.endswith(".") for step in NEXT_STEPS.values())


def test_the_numbers_of_the_card_are_those_of_the_record():
    record = make_record()
    text = " ".join(show(record).split())
    measured = record.measurement
    timing, memory, energy, roofline = measured.timing, measured.memory, measured.energy, measured.roofline
    for samples in (timing.candidate, timing.baseline, timing.compiled):
        assert (
            f"{show_time(samples.time_s)} [{show_time(samples.low_s)}, {show_time(samples.high_s)}] {show_time(samples.warm_time_s)}"
            in text
        )
    for interval in (timing.speedup, timing.speedup_compiled, timing.control.aa, timing.control.planted):
        assert f"{show_ratio(interval.value)} [{show_ratio(interval.low)}, {show_ratio(interval.high)}]" in text
    assert "3.14× [3.10×, 3.18×] faster than eager" in text
    assert f"{show_bytes(memory.peak_bytes)} peak" in text and show_bytes(memory.workspace_bytes) in text
    assert f"{show_energy(energy.energy_j)} [{show_energy(energy.low_j)}, {show_energy(energy.high_j)}]" in text
    assert f"{show_percent(roofline.sol)} (model: least bytes and flops, measured ceilings) · memory-bound" in text
    assert "1 kernel · eager 5 · fusion 5.00×" in text
    assert "8 of 8 passed · 30 of 240 timed outputs judged · truth in float64" in text
    assert "out: relative error 1.9e-06, 2e-05 allowed" in text
    assert "build 1.07 s (stable headers) · 300 ms in queues, 21.2 s at work · 21.5 s in all" in text
    assert "8 samples; the ±1 % interval was reached" in text
    assert record.case.id in text and record.id in text and "rms_norm.cu · cuda" in text


def test_what_is_unknown_is_a_dash_with_its_reason():
    reasons = {"memory": "no allocator", "launches": "no profiler", "energy": "no RAPL", "sol": "no ceiling"}
    timing = make_timing(compiled=None, speedup_compiled=None, compiled_reason="torch.compile fails", control=Control(reason="no control"))
    measured = Measurement(
        timing=timing, memory=Memory(reason=reasons["memory"]), launches=Launches(reason=reasons["launches"]),
        energy=Energy(reason=reasons["energy"]), roofline=Roofline(reason=reasons["sol"]),
    )  # fmt: skip
    text = show(make_record(measurement=measured))
    for reason in (*reasons.values(), "no control"):
        assert f"— {reason}" in text
    assert re.search(r"torch.compile\s+—\s+torch.compile fails", text)
    assert not re.search(r"\bNone\b|nan|\binf\b", text)


def test_an_unfit_run_says_so_in_the_first_lines():
    control = Control(aa=Interval(value=1.2, low=1.1, high=1.3), fit=False, noise=0.2, reason="the reference against itself gives 1.2")
    text = show(make_record(measurement=Measurement(timing=make_timing(control=control))))
    assert "UNFIT RUN" in text.split("problem")[0]
    assert "the reference against itself gives 1.2" in text


def test_a_side_that_is_slower_warm_than_cold_is_remarked_on():
    timing = make_timing()
    odd = timing.model_copy(update={"baseline": timing.baseline.model_copy(update={"warm_time_s": 2 * timing.baseline.time_s})})
    assert "eager: slower warm than cold" in " ".join(show(make_record(measurement=Measurement(timing=odd))).split())
    assert "slower warm" not in show(make_record())


@pytest.mark.parametrize(("comparison", "words"), [("slower", "slower"), ("no difference", "no difference from eager that can be told")])
def test_slower_and_equal_are_said(comparison, words):
    assert words in show(make_record(measurement=Measurement(timing=make_timing(comparison=comparison)))).split("problem")[0]


def test_compiler_messages_are_shown_with_file_and_line_and_their_number_is_bounded():
    text = show(make_record("compile_error", build=with_diagnostics(9)))
    assert "rms_norm.cu:7: identifier x0 is undefined" in text
    assert "x5" not in text and "and 4 more messages" in text


def test_a_cheat_shows_the_defence_and_the_evidence():
    text = " ".join(show(make_record("cheated")).split())
    assert "caught by clock: 9.7 ms by the parent's clock, 0.28 ms claimed" in text


@pytest.mark.parametrize("form", [card, short_card])
@pytest.mark.parametrize("width", [80, 100])
def test_hostile_text_is_shown_and_changes_nothing(form, width):
    subject = Subject(
        problem=HOSTILE,
        problem_hash="0" * 16,
        implementation="candidate",
        language=HOSTILE[:10],
        name=HOSTILE,
        source="",
        candidate_hash="c" * 16,
    )
    verdict = Verdict(
        outcome="cheated", reason=HOSTILE, stage="build", notes=(HOSTILE,), violations=(Violation(defence=HOSTILE, evidence=HOSTILE),)
    )
    record = make_record(
        "cheated", subject=subject, verdict=verdict, build=Build(diagnostics=with_diagnostics(1).diagnostics, reason=HOSTILE)
    )
    text = show(record, width, of=form)
    assert "[red]x[/red]" in text and r"\x1b[31m" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u05d0]", text)
    coloured = show(record, width, colour=True, of=form)
    assert not re.search(r"\x1b(?!\[[\d;]*m)", coloured) and "\x1b[31mx" not in coloured and "\x1b]8" not in coloured


@given(records())
@settings(max_examples=60, deadline=None)
def test_any_record_has_a_card_that_fits_and_hides_nothing(record):
    text = show(record, 80)
    assert all(cell_len(line) <= 80 for line in text.splitlines())
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("miss", "step"),
    [
        (Miss(off_share=0.9, times_bound=1e43, unwritten=True), "write every element"),
        (Miss(off_share=4.8e-7, times_bound=6e4), "few elements are off"),
        (Miss(off_share=0.9, times_bound=3.0), "precision"),
        (Miss(off_share=0.9, times_bound=6e4), "a term, an axis"),
        (Miss(off_share=0.97, times_bound=535.0, largest=0.011), "precision"),  # bfloat16 inside a problem in float32
        (Miss(off_share=0.9, times_bound=30.0, largest=1.2), "a term, an axis"),  # an axis in bfloat16, where the bound is wide
        (None, "small inputs"),
    ],
)
def test_the_next_step_for_wrong_values_follows_what_is_wrong_with_them(miss, step):
    assert step in next_step(Verdict(outcome="wrong_values", miss=miss), "original/L1/19")


def test_a_heading_never_contradicts_what_was_found():
    aliasing = Verdict(outcome="wrong_values", violations=(Violation(defence="aliasing", evidence="x"),))
    assert "memory of its own" in heading(aliasing) and "tensor of its own" in next_step(aliasing, "p")
    for rule, (words, step) in OF_RULES.items():
        ruled = Verdict(outcome="rejected", rule=rule)
        assert (heading(ruled), next_step(ruled, "p")) == (words, step) and words != heading(Verdict(outcome="rejected"))


def test_changing_sizes_are_told_of_where_they_change():
    crashed = Verdict(outcome="crash")
    assert "from trial to trial" in next_step(crashed, "popcorn/L1/29") and "from trial to trial" not in next_step(
        crashed, "original/L1/23"
    )


def test_a_speedup_that_is_not_the_quotient_of_the_times_says_why():
    timing = make_timing()
    far = timing.model_copy(update={"baseline": timing.baseline.model_copy(update={"time_s": 1.2 * timing.baseline.time_s})})
    shown = [" ".join(show(make_record(measurement=Measurement(timing=one))).split()) for one in (timing, far)]
    assert ["paired by neighbouring turns" in text for text in shown] == [False, True]


def test_a_share_above_the_ceiling_names_the_remedy():
    found = Roofline(sol=1.1, sol_source="model", bound="memory", ceiling_source="measured")
    assert "popcorn doctor --measure" in speed_of_light(found)
    assert "doctor" not in speed_of_light(found.model_copy(update={"sol": 0.9}))


def test_lines_in_a_pipe_end_where_their_words_end():
    assert not [line for line in show(make_record()).splitlines() if line != line.rstrip()]
