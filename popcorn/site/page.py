"""A page: where it goes, what it depends on, and how it is made. And the templates that make it."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Files = dict[str, str | bytes]
"""Path within the site → text, or bytes of an image."""


@dataclass(frozen=True)
class Page:
    """One page, and the files beside it."""

    path: str
    """Within the site, `runs/abc.html`."""
    digest: str
    """Of everything it shows: the same digest, the same page."""
    render: Callable[..., Files]
    """Makes it; given the rows named in `records`, by id, where there are any."""
    records: tuple[tuple[str, str], ...] = ()
    """(store, id) of records that it shows in full."""
    beside: tuple[str, ...] = field(default=())
    """Folders that belong to it."""


def root_of(path: str) -> str:
    """The way from a page up to the site's first page: `../` for each folder."""
    return "../" * path.count("/")


def show(template: str, path: str, **values: Any) -> str:
    """A template filled in; every value is escaped unless it is Markup."""
    return environment().get_template(template).render(root=root_of(path), path=path, **values)


@functools.cache
def environment() -> Any:
    """The templates with the filters of `words`; an undefined name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from popcorn import __version__
    from popcorn.site import words
    from popcorn.site.embedding import embed

    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    names = (
        "time", "ratio", "size", "percent", "energy", "whole", "number", "money", "date", "long_time", "times", "sampled", "outcome_word",
        "outcome_group", "outcome_mark", "file_name", "count", "along", "clipped", "name",
    )  # fmt: skip
    made.filters.update({name: getattr(words, name) for name in names})
    from markupsafe import Markup

    made.filters["embed"] = lambda value: Markup(embed(value))
    made.globals.update(version=__version__)
    return made


@functools.cache
def edition() -> str:
    """Digest of the code, templates and scripts that make pages: when it changes, every page does."""
    made = hashlib.sha256()
    for path in sorted(HERE.rglob("*")):
        if path.suffix in {".py", ".html", ".js", ".css"}:
            made.update(path.read_bytes())
    return made.hexdigest()[:16]


def simple(path: str, template: str, digest: str, **values: Any) -> Page:
    """A page that is one template and its values."""
    return Page(path, digest, functools.partial(_simple, template, path, values))


def _simple(template: str, path: str, values: Mapping[str, Any]) -> Files:
    return {path: show(template, path, **values)}
