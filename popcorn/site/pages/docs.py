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
ORDER = (
    "quickstart",
    "measuring",
    "fairness",
    "library",
    "adding",
    "toolchain",
    "site",
    "architecture",
    "columns",
    "cli",
    "dependencies",
    "log",
)


def pages() -> Iterator[Page]:
    """`docs/index.html` and one page a file; where Popcorn is installed without its docs, the index says where they are."""
    found = sorted(FOLDER.glob("*.md"), key=lambda path: (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.stem))
    texts = {path.stem: path.read_text(encoding="utf-8") for path in found}
    listed = [{"stem": stem, "title": title(text, stem), "lead": lead(text)} for stem, text in texts.items()]
    yield simple("docs/index.html", "docs.html", digest(listed), docs=listed)
    for stem, text in texts.items():
        yield Page(f"docs/{stem}.html", digest(text, listed), functools.partial(_render, stem, text, listed))
    for image in sorted((FOLDER / "img").glob("*.png")):
        yield Page(f"docs/img/{image.name}", digest(image.stat().st_mtime_ns, image.stat().st_size), functools.partial(_image, image))


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


def _image(path: Path) -> Files:
    return {f"docs/img/{path.name}": path.read_bytes()}


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
    if page.endswith(".md") and "/" not in page:
        return f"{page[:-3]}.html{mark}{anchor}"
    if page.startswith("img/"):
        return href
    return "index.html"  # a file of the repository that is no page here


def _highlight(source: str, language: str, _attributes: str) -> str:
    from popcorn.site.code import highlight

    if language in ("python", "c", "cpp", "cuda"):
        return str(highlight(source, language))
    return ""
