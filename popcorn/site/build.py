"""Build the site: only pages whose content changed are made again, each file appears whole or not at all, several processes share the work."""

import gc
import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popcorn.errors import MissingTool, UnwritableStore
from popcorn.home import cache_folder
from popcorn.records.tables import Tables
from popcorn.site.gather import Gathered, Source, default_sources, gather, open_sources
from popcorn.site.page import Page, edition

MANIFEST = ".popcorn-site.json"
"""Which page was made from what, and which files it has: what is in it and no page's any more is removed; other files are never touched."""

CHUNK = 160
"""Pages that a process makes at a time: their records are asked for at once."""
FEW = 60
"""So many pages are made in this process: starting others would take longer."""


@dataclass
class Built:
    """What a build did."""

    folder: Path
    made: int = 0
    """Pages written."""
    kept: int = 0
    """Pages that were up to date."""
    removed: int = 0
    """Files of pages that are no more."""
    warnings: list[str] = field(default_factory=list)

    @property
    def index(self) -> Path:
        """The first page."""
        return self.folder / "index.html"


def default_folder() -> Path:
    """`$POPCORN_CACHE_DIR/site`, else in the platform's cache folder."""
    return cache_folder() / "site"


def build(
    sources: Sequence[Source] | None = None,
    folder: Path | None = None,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Built:
    """Build the site of some stores into a folder, and say what was done.

    Raises MissingTool without the `site` extra, UnwritableStore where the folder cannot be written.
    """
    _need_libraries()
    from popcorn.site.pages import every_page

    sources = default_sources() if sources is None else sources
    folder = default_folder() if folder is None else Path(folder)
    _check_writable(folder)
    before = _read_manifest(folder)
    with open_sources(sources) as tables:
        found = gather(sources, tables)
        pages = list(every_page(found, sources, tables, folder))
        stale = [page for page in pages if not _fresh(page, before, folder)]
        files = {page.path: before[page.path] for page in pages if page.path in before}
        done = 0
        try:
            for paths in _make(stale, tables, folder, _processes(processes, len(stale))):
                files.update(paths)
                done += len(paths)
                if progress is not None:
                    progress(done, len(stale))
        except BaseException:  # stopped half way: what was made is known to the next build
            _write(folder / MANIFEST, json.dumps({**before, **files}))
            raise
    built = Built(folder, len(stale), len(pages) - len(stale), warnings=found.warnings)
    built.removed = _remove(before, files, folder)
    _write(folder / MANIFEST, json.dumps(files))
    return built


def _need_libraries() -> None:
    import importlib.util

    needed = {
        "jinja2": "jinja2",
        "altair": "altair",
        "vl_convert": "vl-convert-python",
        "pygments": "pygments",
        "markdown_it": "markdown-it-py",
    }
    absent = [name for module, name in needed.items() if importlib.util.find_spec(module) is None]
    if absent:
        raise MissingTool(f"the site needs {', '.join(absent)}; run: pip install 'popcornbench[site]'")


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".write").touch()
        (folder / ".write").unlink()
    except OSError as error:
        raise UnwritableStore(
            f"the site cannot be written to {folder} ({error.strerror}); give a folder that can be, with --to."
        ) from error


Manifest = dict[str, dict[str, Any]]


def _read_manifest(folder: Path) -> Manifest:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {str(path): dict(entry) for path, entry in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _fresh(page: Page, before: Manifest, folder: Path) -> bool:
    known = before.get(page.path)
    if known is None or known.get("digest") != f"{edition()}{page.digest}":
        return False
    return all((folder / name).is_file() for name in known.get("files", ()))


def _processes(wanted: int | None, stale: int) -> int:
    return 1 if stale <= FEW else max(1, wanted or len(os.sched_getaffinity(0)))


def _make(stale: list[Page], tables: dict[str, Tables], folder: Path, processes: int) -> Iterator[Manifest]:
    chunks = [stale[start : start + CHUNK] for start in range(0, len(stale), CHUNK)]
    if processes == 1:
        for chunk in chunks:
            yield _make_chunk(chunk, _rows(chunk, tables), folder)
        return
    # not forked: DuckDB has threads in this process
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        running: set[Future[Manifest]] = set()
        for chunk in chunks:
            running.add(pool.submit(_make_chunk, chunk, _rows(chunk, tables), folder))
            if len(running) > 2 * processes:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for one in done:
                    yield one.result()
        for one in running:
            yield one.result()


def _rows(chunk: Iterable[Page], tables: dict[str, Tables]) -> dict[str, dict[str, Any]]:
    """The whole rows that these pages show, by id."""
    wanted: dict[str, list[str]] = {}
    for page in chunk:
        for store, record_id in page.records:
            wanted.setdefault(store, []).append(record_id)
    rows = {}
    for store, ids in wanted.items():
        for row in tables[store].ask("SELECT * FROM records WHERE id IN (SELECT unnest(?))", [ids]).dicts():
            rows[row["id"]] = row
    return rows


def _make_chunk(chunk: list[Page], rows: dict[str, dict[str, Any]], folder: Path) -> Manifest:
    gc.set_threshold(100_000, 20, 50)  # a page's objects are gone with it; looking for cycles among them took a tenth of the time
    made: Manifest = {}
    for page in chunk:
        files = page.render(rows) if page.records else page.render()
        for name, text in files.items():
            _write(folder / name, text)
        made[page.path] = {"digest": f"{edition()}{page.digest}", "files": list(files)}
    return made


def _write(path: Path, text: str | bytes) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name[:80]}.{os.getpid()}")
    made.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
    made.replace(path)


def _remove(before: Manifest, after: Manifest, folder: Path) -> int:
    kept = {name for entry in after.values() for name in entry["files"]}
    gone = {name for entry in before.values() for name in entry.get("files", ())} - kept
    removed = 0
    for name in gone:
        path = folder / name
        if path.resolve().is_relative_to(folder.resolve()) and path.is_file():
            path.unlink()
            removed += 1
    return removed


def summary(found: Gathered) -> dict[str, int]:
    """How much there is."""
    return {"runs": len(found.runs), "evaluations": len(found.evaluations), "ops": len(found.ops), "searches": len(found.searches)}
