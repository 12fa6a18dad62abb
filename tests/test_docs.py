"""The pages are true: the generated ones are what the code says, links lead somewhere, no page knows a machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from popcorn.cli.docs import DOCS, PAGES, columns_page, fields, helps, main, modules, nouns
from popcorn.cli.main import COMMANDS
from popcorn.measure import counters, roofline, stats, timing
from popcorn.schema.verdict import EXIT_CODES
from popcorn.verify import judge
from popcorn.verify.defences import clock
from popcorn.verify.judge import FLOORS
from popcorn.worker import counting, judging, launch, planning, taken

ROOT = DOCS.parent
MODELS = [model for module in modules() for model in nouns(module)]
TEXTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|work|workspace|Users|mnt|scratch|tmp|data)\b|[A-Z]:\\\\")
"""Beginnings of paths that exist on somebody's machine alone."""


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name):
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run: python -m popcorn.cli.docs"


def test_the_commands_page_is_the_same_in_any_terminal():
    code = "from popcorn.cli.docs import commands_page; print(commands_page(), end='')"
    odd = {"COLUMNS": "37", "TERM": "dumb", "FORCE_COLOR": "1", "PATH": "/usr/bin", "PYTHONIOENCODING": "utf-8"}
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=odd, capture_output=True, text=True, encoding="utf-8", check=True)
    assert printed.stdout == PAGES["cli.md"]()


def test_every_command_is_on_the_page_within_80_columns():
    texts = dict(helps())
    assert {f"popcorn {name}" for name in COMMANDS} | {"popcorn", "popcorn problems show"} <= set(texts)
    assert max(len(line) for text in texts.values() for line in text.splitlines()) <= 80


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as the forges make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_names_a_path_of_a_machine(page):
    assert MACHINE.findall(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_shows_exists_with_its_options(page):
    known, unknown = dict(helps()), []
    lines = page.read_text(encoding="utf-8").splitlines()
    shown = [line for line in lines if line.startswith("    ")] + [code for line in lines for code in re.findall(r"`([^`]+)`", line)]
    for command in re.findall(r"(?<![\w/.-])popcorn ([a-z][^#|;\n]*)", "\n".join(shown)):
        name = "popcorn"
        for word in command.split():
            if f"{name} {word}" not in known:
                break
            name += f" {word}"
        own = "\n".join(text for other, text in known.items() if other == name or other.startswith(f"{name} "))
        options = [one for one in re.findall(r"(?<=\s)--[a-z-]+", command) if not re.search(rf"{one}(?![\w-])", own)]
        unknown += [command] if name == "popcorn" else [f"{name} {one}" for one in options]
    assert unknown == []


def test_the_method_page_gives_the_outcomes_and_floors_of_the_code():
    page = (DOCS / "measuring.md").read_text(encoding="utf-8")
    assert {name: int(code) for name, code in re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)} == EXIT_CODES
    found = re.search(r"\| precision \|(.+)\|\n.*\n\| floor \|(.+)\|", page)
    assert found is not None
    names, values = ([cell.strip() for cell in row.split("|")] for row in found.groups())
    assert {name: float(value) for name, value in zip(names, values, strict=True)} == FLOORS


def test_the_figures_of_the_method_page_are_the_constants_of_the_code():
    page = " ".join((DOCS / "measuring.md").read_text(encoding="utf-8").split())
    cuda, cpu = launch.WARM_S["cuda"] * 1e3, launch.WARM_S["cpu"] * 1e3
    for sentence in (
        f"at least {cuda:.0f} ms of calls on a GPU",
        f"on a CPU {cpu:.0f} ms each",
        f"two looks of {launch.LOOK_S * 1e3:.0f} ms",
        f"| GPU | 3 to 8 | 8 | {planning.CUDA_WINDOWS} calls |",
        f"for more than {timing.DISTURBED * 100:.0f} % of it",
        f"windows of at least {timing.WINDOW_S * 1e3:.0f} ms, at most {planning.MAX_PER_WINDOW} calls",
        f"{(clock.SLACK - 1) * 100:.0f} %, that overhead by {(clock.OVERHEAD_SLACK - 1) * 100:.0f} %, and {clock.STEP_S * 1e3:.0f} ms a batch ({clock.PRESENT_STEP_S * 1e3:.1f} ms on a CPU)",
        f"more than {(clock.FIRM - 1) * 100:.0f} % counts as long as the parent found it",
        f"{(taken.PLANT - 1) * 100:.0f} % of the reference's",
        f"miss it by no more than {taken.CHANCE * 100:g} %",
        f"exceeds {judge.ILL_CONDITIONED * 100:.0f} % on average",
        "At least one call in ten" if taken.JUDGED_SHARE == 0.1 else "",
        "never fewer than five" if judging.MIN_TRIALS == 5 else "",
        f"by more than {roofline.TOLERANCE * 100:.0f} %, is `cheated`",
        f"`latency` under {roofline.LATENCY_S * 1e6:.0f} µs",
        f"A burst of {counting._BURST_S:g} s of calls",
        f"its first {counters.MOST_COUNTED} kernels",
        *(f"its {name}" for _, name in judge._STATISTICS),
        f"{stats.student(3):.2f} for three, {stats.student(5):.2f} for five, {stats.student(8):.2f} for eight",
    ):
        assert sentence and sentence in page, f"docs/measuring.md does not say {sentence!r}"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_has_a_docstring_under_it(model):
    rows = fields(model)
    assert [name for name, _, _ in rows] == list(model.model_fields), "every field is the model's own"
    for name, kind, text in rows:
        assert kind and len(text) > 2, f"{model.__name__}.{name} has no docstring under it"
    assert model.__doc__


def test_every_noun_and_closed_set_is_on_the_page():
    page = columns_page()
    for model in MODELS:
        assert f"### {model.__name__}\n" in page
    for word in ("`wrong_values`", "`time_s`", "`fusion_ratio`", "`Outcome`", "`sol_source`"):
        assert word in page
    assert {"Case", "Verdict", "Measurement", "Machine", "Record", "Run"} <= {model.__name__ for model in MODELS}


def test_checking_tells_a_stale_page_from_a_true_one(tmp_path, capsys):
    assert main(["--check", "--to", str(tmp_path)]) == 1
    assert main(["--to", str(tmp_path)]) == 0
    assert main(["--check", "--to", str(tmp_path)]) == 0
    page = tmp_path / "columns.md"
    page.write_text(page.read_text().replace("Joules", "Jules"))
    capsys.readouterr()
    assert main(["--check", "--to", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "columns.md out of date: run python -m popcorn.cli.docs\n"
