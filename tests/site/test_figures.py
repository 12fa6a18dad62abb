"""The ten figures: each from attempts alone, as SVG, PNG and table; one without data says what would fill it."""

import csv
import dataclasses
import io
import json
import re
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from popcorn.scoring import MODES, Attempt
from popcorn.site.figures import every_figure
from popcorn.site.figures.figure import MODE_COLOURS, doublings, to_csv, to_png, to_svg
from popcorn.site.gather import gather, open_sources


@pytest.fixture(scope="module")
def attempts(site) -> list[Attempt]:
    with open_sources(site.sources) as tables:
        found = gather(site.sources, tables).attempts
    comm = Attempt("aster-2", "comm", "popcorn", 2, "popcorn/L2/47", "correct", speedup=1.3, run="comm-1")
    return [*found, comm]


def test_there_are_ten_in_order_and_each_says_what_fills_it():
    assert [one.number for one in every_figure()] == list(range(1, 11))
    assert all(one.fills and one.caption and one.title for one in every_figure())
    assert [one.number for one in every_figure() if one.rows([])] == []


@pytest.mark.parametrize("figure", every_figure(), ids=lambda one: one.name)
def test_a_figure_is_drawn_without_a_browser_and_has_its_table(figure, attempts):
    rows = figure.rows(attempts)
    assert rows, figure.fills
    paper = figure.paper(rows)
    svg, png = to_svg(paper), to_png(paper)
    assert figure.title.split(",")[0] in svg and "title" not in figure.spec(rows), "a file says what it is; on the page the heading does"
    assert svg.startswith("<svg") and svg.count("<path") > 5 and "NaN" not in svg
    assert png.startswith(b"\x89PNG") and len(png) > 3000
    table = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert len(table) == len(rows) and set(table[0]) == {name for row in rows for name in row}


@pytest.mark.parametrize("figure", every_figure(), ids=lambda one: one.name)
def test_one_kernel_alone_makes_a_figure_whose_axis_it_does_not_fill(figure):
    one = Attempt("a", "default", "popcorn", 2, "popcorn/L2/1", "correct", speedup=1.02, sol=0.5, energy_ratio=0.9, run="r")
    tiers = ("single", "default", "search", "comm")
    alone = [
        dataclasses.replace(one, tier=tier, run=tier, level=level, problem=f"popcorn/L{level}/1") for tier in tiers for level in (2, 3)
    ]
    rows = figure.rows(alone)
    assert rows and "NaN" not in (svg := to_svg(figure.paper(rows)))
    if any("speedup" in row or "evolution" in row for row in rows):
        assert "1×" in svg


def test_a_file_says_how_much_it_counts_and_an_axis_of_ratios_has_1_among_its_ticks():
    one = Attempt("a", "default", "popcorn", 1, "popcorn/L1/1", "correct", speedup=0.331, sol=0.2, run="r")
    other = dataclasses.replace(one, problem="popcorn/L1/2", speedup=3.32, run="s")
    by_number = {figure.number: figure for figure in every_figure()}
    for number in (1, 3):
        svg = to_svg(by_number[number].paper(by_number[number].rows([one, other])))
        assert ">1×<" in svg and "n = 2 kernels." in svg
    assert doublings(0.26, 4.1) == [0.5, 1, 2, 4] and 1 in doublings(1e-3, 1e6) and len(doublings(1e-3, 1e6)) <= 8
    nine = by_number[9]
    assert "n = 2 planned problems" in to_svg(nine.paper(nine.rows([one, other])))


def test_modes_that_follow_each_other_in_a_bar_differ_in_a_grey_print():
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        return float(0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2) ** (1 / 2.2)

    grey = [lightness(MODE_COLOURS[mode]) for mode in MODES]
    assert all(abs(a - b) > 0.07 for a, b in pairwise(grey)), grey


@pytest.mark.parametrize("number", [1, 2, 6, 10])
def test_models_and_variants_differ_without_their_colours(number):
    one = Attempt(
        "a", "comm" if number == 10 else "default", "popcorn", 3, "popcorn/L3/1", "correct", speedup=2.0, sol=0.3, energy_ratio=0.5
    )
    one = dataclasses.replace(one, level=2) if number == 6 else one
    (figure,) = [figure for figure in every_figure() if figure.number == number]

    def dots(*attempts: Attempt) -> set[tuple[str, str]]:
        """Outline, about its own middle, and how much it is filled."""
        svg = to_svg(figure.paper(figure.rows(attempts)))
        marks = re.findall(r'<path aria-label="[^"]*model: [^>]*>', svg)
        assert len(marks) == len(attempts)
        return {(re.search(r' d="([^"]*)"', mark)[1], (re.search(r'fill-opacity="([^"]*)"', mark) or [""] * 2)[1]) for mark in marks}

    assert len(dots(one, dataclasses.replace(one, model="b", sol=0.6, problem="popcorn/L3/2"))) == 2
    if number < 3:
        filled = dots(one, dataclasses.replace(one, variant="original", problem="original/L3/1"))
        assert sorted(how for _, how in filled) == ["0", "1"]


def test_lines_of_the_tiers_have_a_key_for_variants_and_a_shape_for_models(attempts):
    (four,) = [figure for figure in every_figure() if figure.number == 4]
    svg = to_svg(four.paper(four.rows(attempts)))
    legend = svg[svg.index("role-legend-entry") :]
    assert re.search(r'stroke="#8a857a"[^>]*stroke-dasharray', legend), "the dashed line of a variant is drawn in the key"
    assert len(set(re.findall(r'fill="(#[0-9a-f]{6})"', legend))) >= 4, "three models and the text"


def test_the_tables_are_what_scoring_says(attempts):
    by_number = {one.number: one for one in every_figure()}
    for row in by_number[9].rows(attempts):
        assert 0 < row["share"] <= 1
    shares: dict[tuple[str, ...], float] = {}
    for row in by_number[9].rows(attempts):
        key = (row["level"], row["variant"], row["model"])
        shares[key] = shares.get(key, 0.0) + row["share"]
    assert all(abs(total - 1) < 1e-9 for total in shares.values())
    assert {row["level"] for row in by_number[2].rows(attempts)} <= {"L3", "L4"}
    assert all(0 <= row["sol"] <= 1 for row in by_number[6].rows(attempts))
    assert {row["problem"] for row in by_number[8].rows(attempts)} <= {"L1/1", "L1/2", "L2/1", "L2/2", "L1/10", "L2/10"}


def test_a_table_is_no_program_for_a_spreadsheet():
    assert to_csv([{"model": "=cmd()", "x": -1.5}]) == "model,x\n'=cmd(),-1.5\n"
    assert to_csv([]) == ""


def test_the_command_writes_files_or_says_what_is_missing(site, tmp_path, monkeypatch):
    from popcorn.cli.main import app

    monkeypatch.setenv("POPCORN_CACHE_DIR", str(site.store.folder.parent))
    done = CliRunner().invoke(app, ["figures", "9", "--to", str(tmp_path / "f")])
    assert done.exit_code == 0, done.output
    assert {one.suffix for one in (tmp_path / "f").iterdir()} == {".svg", ".png", ".csv"}
    missing = CliRunner().invoke(app, ["figures", "10", "--to", str(tmp_path / "f")])
    assert max(map(len, missing.output.splitlines())) <= 80
    assert missing.exit_code == 1 and "filled by the sweep comm_l2_popcorn" in missing.output
    assert list(json.loads(CliRunner().invoke(app, ["figures", "3", "--json"]).output)) == ["3"]
