"""Every page in a real browser: opens without an error, asks nothing of another origin, is fit for people who read by keyboard or screen reader."""

import json
import re
from html.parser import HTMLParser

import pytest

from popcorn.site.words import file_name
from popcorn.units import show_energy, show_percent, show_ratio, show_time
from tests.site.made_store import EXOTIC, HOSTILE, KERNEL

PAGES = (
    "index.html", "evaluations.html", "runs.html", "problems.html", "ops.html", "searches.html", "figures.html", "compare.html", "docs/index.html",
    "docs/measuring.html", "ops/rms_norm.html", "searches/ae-1.html", "problems/original_L1_36-HASH.html", "runs/long.html", "runs/talkative.html",
    "runs/no-kernel.html", "runs/at-work.html",
)  # fmt: skip
LIMIT = 2_000_000


def path_of(name: str) -> str:
    return f"problems/{file_name('original/L1/36')}.html" if "HASH" in name else name


def record_path(site, name: str) -> str:
    """The page of the record whose candidate has this file name."""
    (found,) = [record for record in site.store if record.subject.name == name]
    return f"records/{found.id}.html"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_clean_fits_a_telephone_and_has_no_serious_fault_of_access(opened, name):
    page = opened(path_of(name))
    assert page.title() and page.locator("h1").inner_text()
    assert "{{" not in page.locator("main").inner_text().replace("{{ 7 * 7 }}", "")
    assert serious_faults(page) == {}
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate("document.documentElement.classList.contains('dark')")
    if name != "runs/long.html":  # 500 turns take half a minute to look through; its template is looked at in the dark with fewer
        assert serious_faults(page) == {}
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("name", ["evaluations", "runs"])
def test_on_a_telephone_outcome_is_seen_and_speedup_begins_on_the_screen(opened, name):
    page = opened(f"{name}.html", width=390)
    outcome, speedup = (page.locator("tbody tr").first.locator("td").nth(place).bounding_box() for place in (1, 2))
    assert outcome["x"] + outcome["width"] <= 390 and speedup["x"] <= 300


@pytest.mark.parametrize("width", [1280, 1920])
@pytest.mark.parametrize("name", ["evaluations.html", "runs.html", "problems/original_L1_36-HASH.html"])
def test_on_a_laptop_or_a_desk_a_list_needs_no_scrolling_sideways_whatever_names_it_holds(opened, name, width):
    page = opened(path_of(name), width=width)
    wide = page.locator(".table .scroll").evaluate_all("all => all.map(one => one.scrollWidth - one.clientWidth)")
    assert wide and max(wide) <= 0


def test_on_a_telephone_the_link_of_this_page_is_in_sight_and_charts_stand_under_each_other(opened, site):
    for name in ("figures.html", "docs/index.html"):
        here = opened(name, width=390).locator(".links [aria-current]").bounding_box()
        assert here["x"] >= 0 and here["x"] + here["width"] <= 340, "nor under the shade at the end"
    page = opened(record_path(site, "instant.cu"), width=390)
    assert page.locator(".pair > section").count() == 2
    assert all(one.bounding_box()["width"] > 300 for one in page.locator(".pair > section").all())


def serious_faults(page) -> dict[str, list[str]]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return {one["id"]: [node["html"][:160] for node in one["nodes"][:3]] for one in found if one["impact"] in ("serious", "critical")}


def test_every_page_opens_from_a_disk_too(opened, site):
    page = opened("index.html", disk=True)
    for name in PAGES:
        page.goto(f"file://{site.folder}/{path_of(name)}")
        assert page.locator("h1").inner_text()
        charts = page.locator("[data-chart], #front, #plot, #curve").count()
        if charts:
            page.wait_for_selector("[data-drawn]")
        assert page.evaluate("window.hacked") is None


def test_every_outcome_and_extreme_has_a_page_that_opens(opened, site):
    shown = set()
    page = opened("index.html")
    for record in site.store:
        if record.kind == "evaluation" and (site.folder / f"records/{record.id}.html").exists():
            page.goto(f"{site.url}records/{record.id}.html")
            shown.add(record.verdict.outcome)
            assert page.evaluate("window.hacked") is None
            assert page.locator("h1").inner_text().strip()
    assert len(shown) >= 13


def test_figures_on_a_record_page_are_those_of_the_store(opened, site):
    for name in ("instant.cu", "endless.cu", "unfit.cu"):
        path = record_path(site, name)
        record = next(record for record in site.store if record.id == path[8:-5])
        page = opened(path)
        facts = {
            label: row.locator(".value").inner_text()
            for row in page.locator(".card dl > div").all()
            for label in row.locator("dt").inner_text().split(", ")
        }
        timing, energy = record.measurement.timing, record.measurement.energy
        assert facts["kernel runtime"].startswith(show_time(timing.candidate.time_s))
        assert facts["speedup over eager"].replace("\xa0", " ") == (
            f"{show_ratio(timing.speedup.value)} [{show_ratio(timing.speedup.low)}, {show_ratio(timing.speedup.high)}]"
        )
        assert facts["SOL"] == show_percent(record.measurement.roofline.sol)
        assert facts["energy of a call"] == show_energy(energy.energy_j)
        assert json.loads((site.folder / path).with_suffix(".json").read_text()) == record.model_dump(mode="json")


def test_a_verdict_can_be_argued_with(opened, site):
    page = opened(record_path(site, "endless.cu"))
    for figure, marks in (("times", ".mark-symbol path"), ("blocks", ".mark-symbol path"), ("roof", ".mark-line path")):
        page.wait_for_selector(f"[data-chart={figure}] {marks}", state="attached")
    (record,) = [one for one in site.store if one.subject.name == "endless.cu"]
    blocks = sum(
        len(launch) for side in (record.measurement.timing.candidate, record.measurement.timing.baseline) for launch in side.blocks_s
    )
    assert page.locator("[data-chart=blocks] .role-mark.layer_2_marks path").count() == blocks
    told = page.locator("#result").inner_text()
    assert record.provenance.seed in told and record.provenance.seed_commitment in told and record.machine.torch in told
    assert page.locator("#ranks tbody tr").count() == 2
    assert page.locator("#checked").inner_text().count("float64") >= 1
    here = page.locator(".jump a").evaluate_all("all => all.map(one => one.getAttribute('href')).filter(one => one.startsWith('#'))")
    assert here and all(page.locator(one).count() == 1 for one in here)


def test_a_failure_says_first_what_was_seen_and_has_no_figure(opened, site):
    page = opened(record_path(site, "wrong_values.cu"))
    assert page.locator("#result h3").first.inner_text() == "What was checked" and page.locator("[data-chart]").count() == 0


def test_unknown_is_a_dash_with_its_reason(opened, site):
    page = opened(record_path(site, "unknown.cu"))
    row = page.locator(".card .unknown", has_text="torch.compile runtime")
    assert row.locator(".value").inner_text() == "—" and row.locator(".note").inner_text() == "torch.compile failed"
    sentences = page.locator(".card", has_text="Energy").locator(".unknown .note").all_inner_texts()
    assert len(sentences) == len(set(sentences)), "a reason is said once a card"
    empty = [row.inner_text() for row in page.locator(".card .unknown").all() if not row.locator(".note").count()]
    assert empty == []


def test_the_ledgers_word_is_on_the_page_and_in_the_list(opened, site):
    page = opened(record_path(site, "condemned.cu"))
    assert "condemned" in page.locator(".verdict").inner_text() and "it replays a file" in page.locator(".judgement").inner_text()
    listed = opened("evaluations.html")
    listed.locator("input[type=search]").fill("condemned.cu")
    assert "condemned" in listed.locator("tbody tr").inner_text()
    best = opened(path_of("problems/original_L1_36-HASH.html")).locator(".results").inner_text()
    assert "instant.cu" in best and "condemned.cu" not in best


def test_a_kernel_is_shown_in_full_and_copied_as_it_is(opened, site):
    page = opened("runs/long.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = page.locator("#kernel")
    assert "</script>" in block.inner_text() and block.locator("li").count() == len(KERNEL.rstrip("\n").split("\n"))
    assert block.locator(".k, .kn").count() > 3, "highlighted"
    block.get_by_role("button", name="Copy").click()
    page.wait_for_selector("#kernel .copy.done")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert [line for line in copied.split("\n") if "\\u202e" not in line] == [line for line in KERNEL.split("\n") if "\u202e" not in line]
    page.locator(".actions .command .copy").first.click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("popcorn rerun ")


def test_a_run_of_500_turns_stays_small_and_its_turns_open(opened, site):
    path = site.folder / "runs" / "long.html"
    assert path.stat().st_size < LIMIT
    page = opened("runs/long.html", disk=True)
    assert page.locator(".turn").count() == 500
    last = page.locator("#turn-499")
    last.locator("summary").click()
    last.locator(".call").wait_for()
    assert "submit_kernel" in page.locator("#turn-500 summary").inner_text() and "FINAL" in page.locator("#turn-500 summary").inner_text()
    assert "Turn 499" in last.inner_text() and page.evaluate("window.hacked") is None
    summary = page.locator("#turn-2 summary").inner_text()
    assert (
        "23.0 s" in summary
        and "7.30 s model" in summary
        and "12.5 s tools" in summary
        and "2.50 s queued" in summary
        and "out 492" in summary
    )


def test_two_megabytes_of_reasoning_lie_beside_the_page(opened, site):
    path = site.folder / "runs" / "talkative.html"
    assert path.stat().st_size < 200_000
    link = opened("runs/talkative.html").locator("#turn-1 .body a").first
    whole = site.folder / "runs" / link.get_attribute("href")
    assert whole.stat().st_size > 2_000_000 and whole.read_text() == "thinking </script> 🍿 " * 90_000


def test_no_page_is_over_two_megabytes_before_interaction(site):
    large = []
    for page in site.folder.rglob("*.html"):
        text = page.read_text()
        data = re.findall(r'<script defer src="([^"]+data/[^"]+)"', text)
        size = len(text.encode()) + sum((page.parent / name).resolve().stat().st_size for name in data)
        if size > LIMIT:
            large.append((page.name, size))
    assert large == []


def test_a_page_that_is_not_there_says_so_and_leads_home(opened, site):
    page = opened("index.html")
    assert page.goto(f"{site.url}runs/<b>gone.html").status == 404
    assert "No run <b>gone is in the stores" in page.locator("#why").inner_text()
    page.locator("#home").click()
    page.wait_for_url(f"{site.url}index.html")
    missing = [one for one in page.watched.errors if "404" in one]  # the browser itself writes that the page is missing
    page.watched.errors[:] = [one for one in page.watched.errors if one not in missing]


def test_the_head_of_the_first_page_shows_what_is_proven_alone(opened, site):
    page = opened("index.html")
    rows = page.locator(".proven li")
    told = [row.inner_text() for row in rows.all()]
    assert rows.count() == 7 and "instant.cu" in told[0] and "1,000,000×" in told[0]
    assert not any(name in text for text in told for name in ("condemned.cu", "unfit.cu"))
    speedups = [float(one.split()[0].rstrip("×").replace(",", "")) for one in page.locator(".proven .figure").all_inner_texts()]
    assert speedups == sorted(speedups, reverse=True)
    widths = page.locator(".proven .bar b").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert widths == sorted(widths, reverse=True) and widths[-1] > 0


def test_the_machines_of_the_first_page_are_all_that_measured_by_their_names(opened):
    page = opened("index.html")
    proven, all_of_them = page.locator(".proven .note").inner_text(), page.locator(".hero .note").first.inner_text()
    names = proven.partition(", on ")[2].partition(";")[0].split(", ")
    assert names and all(name in all_of_them for name in names), (names, all_of_them)
    board, front = (page.locator(one).bounding_box() for one in ("#standings", "#front"))
    assert board["y"] < front["y"], "who leads stands before the chart"


def test_the_head_of_a_record_says_whether_it_is_right_fast_and_trusted_and_where(opened, site):
    page = opened(record_path(site, "unfit.cu"))
    (record,) = [one for one in site.store if one.subject.name == "unfit.cu"]
    told = page.locator("header .stats").inner_text()
    assert f"{record.verdict.trials_passed} of {record.verdict.trials}" in told and "unproven" in told
    assert record.machine.device_name in told


def test_a_text_has_as_many_lines_as_are_numbered(opened, site):
    page = opened(record_path(site, "unfit.cu"))
    assert f" {page.locator('#kernel-code li').count()} lines" in page.locator("#kernel .bar").inner_text()


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


def test_every_link_between_pages_leads_somewhere(site):
    broken = []
    for page in site.folder.rglob("*.html"):
        parser = _Links()
        parser.feed(page.read_text())
        for target in parser.found:
            if target.startswith(("#", "data:", "https:", "http:")):
                continue
            there = page.parent / target.partition("#")[0].partition("?")[0]
            if not there.exists():
                broken.append((page.name, target))
    assert broken == []


def test_hostile_names_are_text(opened, site):
    page = opened("evaluations.html")
    page.locator("input[type=search]").fill("onerror")
    assert page.evaluate("window.hacked") is None and page.locator("tbody tr").count() == 1
    assert "window.hacked" in HOSTILE and EXOTIC[:4] in page.locator("tbody tr").inner_text()
