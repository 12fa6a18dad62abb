"""What a record has several of stands in tables: every output, every kernel; what nobody knows has no column."""

from popcorn.schema.measurement import Control, Counters, KernelCounters, Measurement
from popcorn.schema.verdict import Precision
from popcorn.site.facts import headline, precision
from popcorn.site.facts_tables import tables_of
from tests.made_records import make_record


def record(**changes):
    made = make_record()
    verdict = made.verdict.model_copy(update={"precision": changes.pop("precision", made.verdict.precision)})
    counters = Counters(kernels=changes.pop("kernels", ()))
    return make_record(verdict=verdict, measurement=Measurement(timing=made.measurement.timing, counters=counters))


def test_every_output_has_a_row_and_the_card_shows_the_one_nearest_to_its_bound():
    outputs = tuple(Precision(output=f"out[{n}]", max_abs_error=1e-6 * n, bound=1e-5, worst=1e-6 * (3 - abs(n - 3))) for n in range(5))
    (table,) = tables_of(record(precision=outputs))
    assert table.headings == ("output", "max abs error", "held", "allowed")
    assert [row[0] for row in table.rows] == [one.output for one in outputs]
    assert precision(record(precision=outputs)).facts[0].value == "out[3]"


def test_every_kernel_of_a_profile_has_a_row_and_one_output_or_kernel_needs_no_table():
    kernels = (
        KernelCounters(name="a" * 300, time_s=2e-6, stalls={"wait": 0.2, "long_scoreboard": 0.7}),
        KernelCounters(name="b", occupancy=0.5),
    )
    (table,) = tables_of(record(kernels=kernels))
    assert table.headings == ("kernel", "time", "occupancy", "longest stall")
    assert table.rows == (("a" * 80, "2.00 µs", "—", "long_scoreboard"), ("b", "—", "50.0 %", "—"))
    assert list(tables_of(record(kernels=kernels[:1]))) == []


def test_a_headline_says_where_controls_are_missing_or_failed():
    said = []
    for fit in (True, None, False):
        made = make_record()
        timing = made.measurement.timing.model_copy(update={"control": Control(fit=fit)})
        said.append(headline(make_record(measurement=Measurement(timing=timing))))
    assert (
        said[0] == "3.14× faster than eager"
        and said[1] == "3.14× faster than eager; no controls were run with it"
        and "unproven" in said[2]
    )
