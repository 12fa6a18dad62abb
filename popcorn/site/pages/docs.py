"""The documentation as pages of the same site, from docs/*.md of a checkout."""

import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import popcorn
from popcorn.site.gather import digest
from popcorn.site.page import Files, Page, show, simple

FOLDER = Path(popcorn.__file__).parent.parent / "docs"
BENCHMARKS = FOLDER.parent / "benchmarks" / "README.md"
ORDER = (
    "quickstart",
    "measuring",
    "fairness",
    "suites",
    "library",
    "adding",
    "agents",
    "search",
    "sweeps",
    "toolchain",
    "site",
    "benchmarks",
    "architecture",
    "columns",
    "cli",
    "dependencies",
    "log",
)


def pages() -> Iterator[Page]:
    """`docs/index.html` and one page a file; where Popcorn is installed without its docs, the index says where they are."""
    found = {path.stem: path for path in FOLDER.glob("*.md")}
    if BENCHMARKS.is_file():
        found["benchmarks"] = BENCHMARKS
    order = sorted(found, key=lambda stem: (ORDER.index(stem) if stem in ORDER else len(ORDER), stem))
    texts = {stem: found[stem].read_text(encoding="utf-8") for stem in order}
    listed = [{"stem": stem, "title": title(text, stem), "lead": lead(text)} for stem, text in texts.items()]
    yield simple("docs/index.html", "docs.html", digest(listed), docs=listed)
    for stem, text in texts.items():
        yield Page(f"docs/{stem}.html", digest(text, listed), functools.partial(_render, stem, text, listed))
    for file in sorted([*(FOLDER / "img").glob("*.png"), *(FOLDER / "measured").glob("*.txt"), *(FOLDER / "measured").glob("*.xz")]):
        target = f"docs/{file.relative_to(FOLDER).as_posix()}"
        yield Page(target, digest(file.stat().st_mtime_ns, file.stat().st_size), functools.partial(_copy, target, file))


def title(text: str, stem: str) -> str:
    """The first heading."""
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    return match[1].strip() if match else stem


def lead(text: str) -> str:
    """The first sentence below it."""
    body = re.sub(r"\A# .+\n+", "", text)
    first = " ".join(body.split("\n\n", 1)[0].split())
    plain = re.sub(r"[*`]|\[([^\]]*)\]\([^)]*\)", lambda match: match[1] or "", first)
    sentence = re.match(r".+?[.!?](?=\s|$)", plain)
    return (sentence[0] if sentence else plain)[:180]


def _render(stem: str, text: str, listed: list[dict[str, Any]]) -> Files:
    from markupsafe import Markup

    path = f"docs/{stem}.html"
    html, headings = markdown(text)
    return {path: show("doc.html", path, body=Markup(html), headings=headings, docs=listed, stem=stem, title=title(text, stem))}


def _copy(target: str, path: Path) -> Files:
    return {target: path.read_bytes()}


def markdown(text: str) -> tuple[str, list[dict[str, str]]]:
    """HTML of a page, and its headings of the second level. Links between pages lead to the pages here."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "highlight": _highlight}).enable("table").enable("strikethrough")
    tokens = made.parse(text)
    headings = []
    for token, inner in itertools.pairwise(tokens):
        if token.type == "heading_open":
            anchor = re.sub(r"[^\w\- ]", "", inner.content.lower()).replace(" ", "-")
            token.attrSet("id", anchor)
            if token.tag == "h2":
                headings.append({"id": anchor, "text": re.sub(r"[`*]", "", inner.content)})
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", _target(str(child.attrGet("href"))))
    html = str(made.renderer.render(tokens, made.options, {}))
    html = html.replace("<pre>", '<pre tabindex="0">')
    return html.replace("<table>", '<div class="scroll" tabindex="0" role="region" aria-label="table"><table>').replace(
        "</table>", "</table></div>"
    ), headings


def _target(href: str) -> str:
    page, mark, anchor = href.partition("#")
    if "://" in href or not page:
        return href
    outside, page = page.startswith("../") and not page.startswith("../docs/"), page.removeprefix("../").removeprefix("docs/")
    if page == "benchmarks/README.md":
        return f"benchmarks.html{mark}{anchor}"
    if page.endswith(".md") and "/" not in page and not outside:
        return f"{page[:-3]}.html{mark}{anchor}"
    if page.startswith(("img/", "measured/")):
        return page
    return "index.html"  # a file of the repository that is no page here


def _highlight(source: str, language: str, _attributes: str) -> str:
    from popcorn.site.code import highlight

    if language in ("python", "c", "cpp", "cuda"):
        return str(highlight(source, language))
    return ""
