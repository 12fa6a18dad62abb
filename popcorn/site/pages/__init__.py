"""The pages, one file a kind. Each offers `pages(found, …)`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from popcorn.records.tables import Tables
from popcorn.site.gather import Gathered, Source
from popcorn.site.page import Page
from popcorn.site.pages import compare, docs, evaluations, figures, leaderboard, ops, problems, runs, searches, shared


def every_page(found: Gathered, sources: Sequence[Source], tables: dict[str, Tables], folder: Path) -> Iterator[Page]:
    """Every page and shared file of the site."""
    yield from shared.pages(found)
    yield from leaderboard.pages(found)
    yield from evaluations.pages(found)
    yield from runs.pages(found)
    yield from problems.pages(found)
    yield from ops.pages(found, tables)
    yield from figures.pages(found)
    yield from compare.pages(found, tables)
    yield from searches.pages(found)
    yield from docs.pages()
