"""What people do with pages: sort, filter, hover, slice, compare, follow a fill, switch the theme. In a real browser."""

import contextlib
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from popcorn.site.live import HEADERS, PATH, Event, encode, follow
from popcorn.units import show_energy, show_percent, show_rate, show_ratio, show_time
from tests.made_records import identity
from tests.site.made_store import library


def column(page, holder: str, heading: str) -> list[str]:
    heads = [one.strip().rstrip(" ↑↓") for one in page.locator(f"{holder} thead th:not([hidden])").all_inner_texts()]
    place = heads.index(heading) + 1
    return page.locator(f"{holder} tbody tr td:nth-child({place})").all_inner_texts()


def test_units_in_the_browser_are_those_of_python(opened):
    chance = random.Random(5)
    values = [0.0, 1e-9, 9.6e-6, 9.996e-4, 0.9995, 999.5, 1e6, 123456.0, 1e12, 5e-13, *(10 ** chance.uniform(-10, 13) for _ in range(400))]
    page = opened("index.html")
    shown = page.evaluate(
        "values => values.map(v => [popcorn.units.time(v), popcorn.units.ratio(v), popcorn.units.percent(v), popcorn.units.energy(v), popcorn.units.rate(v, 'B')])", values
    )  # fmt: skip
    wrong = []
    for value, texts in zip(values, shown, strict=True):
        expected = [show_time(value), show_ratio(value), show_percent(value), show_energy(value), show_rate(value, "B")]
        # halves are rounded to even by one and up by the other: a value exactly between two texts may be either
        if texts != expected:
            wrong.append((value, texts, expected))
    assert wrong == []
    assert page.evaluate("[null, NaN, Infinity].map(v => popcorn.units.time(v))") == ["—"] * 3


def test_a_click_anywhere_in_a_heading_sorts_once(opened):
    page = opened("evaluations.html")
    head = page.locator("thead th").nth(2)
    box = head.bounding_box()
    head.click(position={"x": 3, "y": box["height"] - 3})
    assert head.get_attribute("aria-sort") == "descending"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"


def test_a_heading_sorts_with_unknown_last_and_words_and_choices_filter(opened, site):
    page = opened("evaluations.html")
    page.get_by_role("button", name="runtime").click()
    page.locator("input[type=search]").fill(".cu")
    fast = column(page, "#evaluations", "runtime")
    assert fast[0] == "1.00 ns" and fast[-1] == "—"
    page.get_by_role("button", name="runtime").click()
    slow = column(page, "#evaluations", "runtime")
    assert slow[0] == "86,400 s" and slow[-1] == "—"
    page.locator("select").first.select_option("cheated")
    rows = page.locator("#evaluations tbody tr")
    assert rows.count() == 1 and "cheated" in rows.inner_text()
    assert page.locator("#evaluations .foot").inner_text().startswith("1 of 1 (filtered from ")


def test_the_leaderboard_shows_the_standings_of_scoring_for_each_level(opened, site):
    from popcorn.site.gather import gather, open_sources

    with open_sources(site.sources) as tables:
        found = gather(site.sources, tables)
    page = opened("index.html")
    page.get_by_role("button", name="L2 popcorn").click()
    expected = [one for one in found.standings if (one.variant, one.level) == ("popcorn", 2)]
    assert column(page, "#standings", "model") == [one.model for one in expected]
    assert column(page, "#standings", "Pareto") == [str(one.pareto) for one in expected]
    assert column(page, "#standings", "geomean all") == [show_ratio(one.speedup.failures_as_1) for one in expected]
    shares = [text.replace("\n", "") for text in column(page, "#standings", "correct")]
    assert shares == [f"{show_percent(one.correct_rate)}{one.modes['correct']} of {one.planned}" for one in expected]


def test_hovering_a_point_of_the_front_names_the_run_and_a_click_opens_it(opened):
    page = opened("index.html")
    page.wait_for_selector("#front .mark-symbol path")
    point = page.locator("#front .layer_1_marks path").last
    point.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    told = page.locator("#vg-tooltip-element").inner_text()
    assert "run" in told and "speedup" in told and "SOL" in told
    point.click(force=True)
    page.wait_for_url("**/runs/*.html")
    assert page.url.rpartition("/")[2].removesuffix(".html") in told


def test_the_front_claims_no_place_that_no_kernel_reaches(opened):
    page = opened("index.html")
    page.wait_for_selector("#front .mark-line path")
    corners, dots = page.evaluate("""() => {
        const line = document.querySelector("#front .mark-line path").getAttribute("d").split("M")[1].split("L").map((one) => one.split(",").map(Number));
        const dots = [...document.querySelectorAll("#front .mark-symbol.role-mark path")].map((one) => one.getAttribute("transform").match(/[\\d.]+/g).map(Number));
        return [line, dots];
    }""")
    assert len(corners) >= 3
    for x, y in corners:
        assert any(dot[0] >= x - 0.5 and dot[1] <= y + 0.5 for dot in dots), (x, y, dots)


def test_the_explorer_cuts_slices_and_says_what_would_fill_them(opened):
    page = opened("ops/rms_norm.html")
    page.get_by_role("button", name="Slices").click()
    page.get_by_label("vary", exact=True).select_option("R")
    command = page.locator("#slice-command code").inner_text()
    assert command == "popcorn bench fill rms_norm --live --timeout 300 --slice 'R dtype=bfloat16 D=4096 eps=0.000001'"
    before = page.locator("#cases tbody tr").count()
    page.get_by_label("D", exact=True).select_option("128")
    assert page.locator("#cases tbody tr").count() < before
    page.get_by_role("button", name="Curves").click()
    for metric in ("speedup", "bytes_per_s", "flop_per_s", "sol", "peak_bytes"):
        drawn = int(page.locator("#plot").get_attribute("data-drawn"))
        page.get_by_label("show", exact=True).select_option(metric)
        page.wait_for_function(f"Number(document.getElementById('plot').dataset.drawn) > {drawn}")
        assert page.locator("#plot .mark-symbol path").count() > 5
        assert ("ceiling" in page.locator("#plot").inner_text()) == (metric in ("bytes_per_s", "flop_per_s"))


def test_the_explorer_has_a_heat_map_a_roofline_and_failures_with_reasons(opened):
    page = opened("ops/rms_norm.html")
    for device in ("nvidia-h200-sxm", "cpu-amd-epyc-2c"):
        page.get_by_label("device", exact=True).select_option(device)
        page.get_by_label("element type", exact=True).select_option("float32")
        page.get_by_role("button", name="Heat map").click()
        page.wait_for_selector("#plot .mark-rect path")
        page.get_by_role("button", name="Roofline").click()
        page.wait_for_selector("#plot .mark-line path")
        page.locator("#views button", has_text="Failures").click()
        assert page.locator(".table:visible tbody tr").count() == 2
        assert "needs more than there is" in page.locator(".table:visible tbody").inner_text()
    page.get_by_role("button", name="Curves").click()
    page.get_by_label("colour by", exact=True).select_option("version")
    page.wait_for_function("document.querySelector('#plot').innerText.includes('2.10.0+cu128')")


def test_cases_that_make_no_curve_have_a_line_each(opened):
    page = opened("ops/softmax.html")
    assert "pass forward" in page.locator("#scope").inner_text(), "what leaves no choice is said"
    assert "Each case has a line of its own" in page.locator("#said").inner_text()
    assert page.locator("#plot .mark-symbol.role-mark path").count() == 3, "two implementations, and what the reference took"
    assert "R1-D4096" in page.locator("#plot").inner_text()


def test_rows_of_two_devices_stand_under_two_roofs(opened):
    page = opened("ops/rms_norm.html")
    page.get_by_role("button", name="Roofline").click()
    page.wait_for_function("document.getElementById('plot').dataset.roofs === '1'")
    page.get_by_role("button", name="Curves").click()
    page.get_by_label("colour by", exact=True).select_option("device")
    page.get_by_role("button", name="Roofline").click()
    page.wait_for_function("document.getElementById('plot').dataset.roofs === '2'")


@contextlib.contextmanager
def fake_fill(records, lost: int | None = None):
    """A fill that sends these records to whoever asks, then ends; the first who asks is cut off after `lost` of them."""
    cut = [lost] if lost is not None else []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            assert self.path == PATH
            self.send_response(200)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(encode(Event("hello")) + b": still here\n\n")
            most = cut.pop() if cut else None
            for record in records[:most]:
                self.wfile.write(encode(Event("record", record)))
                self.wfile.flush()
            if most is not None:
                return
            self.wfile.write(encode(Event("done")))

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving.server_address[1]
        serving.shutdown()


def streamed():
    """Three fresh rows of an implementation that the store does not have."""
    rows = [one for one in library() if one.verdict.correct and one.case.precision == "bfloat16" and one.machine.kind == "cuda"][:3]
    return [
        one.model_copy(update={"id": identity("live", one.id), "subject": one.subject.model_copy(update={"implementation": "brand_new"})})
        for one in rows
    ]


def test_a_page_follows_a_fill_and_remembers_its_port(opened, site):
    with fake_fill(streamed()) as port:
        page = opened("ops/rms_norm.html")
        page.watched.elsewhere.clear()
        page.get_by_label("Port of the fill").fill(str(port))
        page.get_by_role("button", name="Follow a fill").click()
        page.wait_for_function("document.getElementById('live').innerText.includes('ended: 3 rows')")
        page.wait_for_selector("#cases tr.live")
        assert "brand_new" in page.locator("#cases tbody").inner_text()
        asked = page.watched.elsewhere
        assert set(asked) == {f"http://127.0.0.1:{port}/events"}
        asked.clear()
        page.reload()
        page.wait_for_function("document.getElementById('live').innerText.includes('ended: 3 rows')")
        page.watched.elsewhere.clear()


def test_a_lost_connection_is_no_end_and_is_tried_again(opened):
    with fake_fill(streamed(), lost=1) as port:
        page = opened("ops/rms_norm.html")
        page.get_by_label("Port of the fill").fill(str(port))
        page.get_by_role("button", name="Follow a fill").click()
        page.wait_for_function("document.getElementById('live').innerText.includes('connection lost after 1 rows; trying again')")
        assert page.get_by_role("button", name="Disconnect").is_visible()
        page.wait_for_function("document.getElementById('live').innerText.includes('ended: 3 rows')", timeout=60_000)
        page.watched.errors.clear()  # the browser itself writes that the answer was cut
        page.watched.elsewhere.clear()


def test_a_port_where_nobody_listens_is_said(opened):
    page = opened("ops/rms_norm.html")
    page.get_by_label("Port of the fill").fill("1")
    page.get_by_role("button", name="Follow a fill").click()
    page.wait_for_function("document.getElementById('live').innerText.includes('no fill on this port')")
    page.watched.errors.clear()  # the browser itself writes that the connection was refused
    page.watched.elsewhere.clear()


def test_python_follows_a_fill_too():
    records = streamed()
    with fake_fill(records) as port:
        events = list(follow(port))
    assert [one.kind for one in events] == ["hello", "record", "record", "record", "done"]
    assert [one.record for one in events if one.record] == records


def test_models_kernels_and_stores_are_compared(opened):
    page = opened("compare.html")
    assert "A solves" in page.locator("#summary").inner_text()
    page.locator("#choice select").nth(1).select_option("borealis-large · default")
    assert page.locator("#pairs tbody tr").count() > 4
    page.get_by_role("button", name="Two kernels").click()
    told = page.locator("#summary").inner_text()
    assert "faster" in told or "difference" in told, "it begins with two that answer one question"
    runtime = page.locator("#pairs tbody tr", has_text="runtime").first.locator("td").last
    assert runtime.inner_text().endswith("×")
    page.locator("#choice select").nth(0).select_option(
        label=next(one for one in page.locator("#choice select").nth(0).locator("option").all_inner_texts() if one.startswith("instant.cu"))
    )
    page.locator("#choice select").nth(1).select_option(
        label=next(
            one for one in page.locator("#choice select").nth(1).locator("option").all_inner_texts() if one.startswith("other_text.cu")
        )
    )
    page.wait_for_function("document.getElementById('texts-said').innerText.includes('lines of A alone')")
    changed = page.locator("#texts-diff .minus, #texts-diff .plus").all_inner_texts()
    assert [one[0] for one in changed] == ["-", "+"] and "2.0f" in changed[0] and "3.0f" in changed[1]
    apart = next(one for one in page.locator("#choice select").nth(1).locator("option").all_inner_texts() if "wrong values" in one)
    page.locator("#choice select").nth(1).select_option(label=apart)
    assert "wrong values" in page.locator("#pairs tbody").inner_text() and runtime.inner_text() == ""
    page.get_by_role("button", name="Two stores").click()
    assert not page.locator("#texts").is_visible()
    assert page.locator("#summary").inner_text().startswith("40 questions that both answer; 0 outcomes changed")


def test_a_search_is_drawn_against_evaluations_and_money(opened):
    page = opened("searches/ae-1.html")
    page.wait_for_selector("#lineage .mark-rule line, #lineage .mark-rule path", state="attached")
    drawn = int(page.locator("#curve").get_attribute("data-drawn"))
    page.get_by_role("button", name="money").click()
    page.wait_for_function(f"Number(document.getElementById('curve').dataset.drawn) > {drawn}")
    assert "US dollars" in page.locator("#curve").inner_text()
    best = page.locator(".stats dd").first.inner_text().split()[0]
    assert column(page, "#candidates", "speedup")[0] == best
    page.get_by_text("p1", exact=True).first.click()


def test_every_way_to_end_is_seen_on_a_dark_page(opened):
    page = opened("figures.html", dark=True)
    page.locator("[data-figure='9']").scroll_into_view_if_needed()
    page.wait_for_selector("[data-figure='9'] .mark-rect path")
    faint = page.evaluate("""() => {
        const light = (colour) => { const [r, g, b] = colour.match(/\\d+/g).slice(0, 3).map((one) => { const c = one / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const ground = light(getComputedStyle(document.body).backgroundColor);
        const told = [...document.querySelectorAll("[data-figure='9'] .mark-rect path")].map((one) => [one.getAttribute("fill"), (light(getComputedStyle(one).fill) + 0.05) / (ground + 0.05)]);
        return [told.length, told.filter(([, contrast]) => contrast < 1.8)];
    }""")
    assert faint[0] > 5 and faint[1] == []


def test_the_theme_is_remembered_and_charts_are_drawn_again(opened):
    page = opened("searches/ae-1.html")
    page.wait_for_selector("#curve[data-drawn]")
    drawn = int(page.locator("#curve").get_attribute("data-drawn"))
    page.get_by_role("button", name="Switch between light and dark").click()
    page.wait_for_function(f"Number(document.getElementById('curve').dataset.drawn) > {drawn}")
    page.goto(page.url.replace("searches/ae-1.html", "index.html"))
    assert page.evaluate("document.documentElement.classList.contains('dark')")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 21, 18)"
