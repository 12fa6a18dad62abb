"""One golden site for all tests, a server for it, and a real browser."""

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from popcorn.records.store import Store
from popcorn.site.build import Built, build
from popcorn.site.gather import Source
from popcorn.site.serving import server
from tests.site.made_store import fill, library

NO_BROWSER = "these tests drive a real browser, and none was found; Debian: apt-get install chromium"


@dataclass(frozen=True)
class Site:
    """A built site and the store it was built from."""

    store: Store
    folder: Path
    url: str
    built: Built
    sources: tuple[Source, ...]


@pytest.fixture(scope="package")
def site(tmp_path_factory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("golden")
    store = fill(home, problems=2)
    other = Store(home / "other" / "records")
    other.extend(library()[:40])
    sources = (Source("mine", store, home / "runs", home / "searches"), Source("theirs", other))
    built = build(sources, home / "site")
    with server(home / "site", 0) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield Site(store, home / "site", f"http://127.0.0.1:{serving.server_address[1]}/", built, sources)
        serving.shutdown()


@dataclass
class Watched:
    """What a page did that it must not."""

    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


@pytest.fixture(scope="package")
def chromium():
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.fail(NO_BROWSER)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, site):
    """A function: path → page, light or dark, of a width, over HTTP or from the disk. Whatever a page did wrong fails the test at its end."""
    contexts, watched = [], Watched()

    def open_page(path: str, dark: bool = False, width: int = 1280, disk: bool = False, wait: str = "networkidle"):
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
        contexts.append(context)
        page = context.new_page()
        where = f"file://{site.folder}/" if disk else site.url
        page.on("console", lambda one: watched.errors.append(f"{path}: {one.text}") if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda one: watched.errors.append(f"{path}: {one}"))
        page.on("request", lambda one: None if one.url.startswith((where, "data:", "blob:")) else watched.elsewhere.append(one.url))
        page.goto(where + path, wait_until=wait)
        page.watched = watched
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert watched.errors == []
    assert watched.elsewhere == []
