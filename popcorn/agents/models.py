"""Models by name, from models.toml: provider, endpoint, key, price, effort, connections. Imports no Inspect until a model is made."""

import logging
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from popcorn.agents.rows import read_rows
from popcorn.errors import BadAgent
from popcorn.schema.case import Frozen

if TYPE_CHECKING:
    from inspect_ai.model import Model

    from popcorn.schema.run import Tokens

SHIPPED = Path(__file__).parent / "models.toml"
OFFLINE = ("scripted/", "replay/", "baseline/")


class Price(Frozen):
    """Dollars a million tokens."""

    input: float
    cached: float
    """Of input that was read from a cache."""
    output: float


class Row(Frozen):
    """One model of models.toml."""

    name: str
    provider: str
    """As Inspect writes it: `openai/gpt-5`, `openai-api/<service>/<model>`."""
    endpoint: str | None = None
    key: str | None = None
    """Environment variable that holds the key; its value is never stored."""
    price: Price | None = None
    priced: str | None = None
    """When the price was looked up."""
    effort: str | None = None
    connections: int = 10
    max_tokens: int | None = None
    """Longest answer."""
    timeout_s: int = 1800
    """One request with its retries."""
    retries: int = 6

    def cost_usd(self, tokens: "Tokens") -> float | None:
        """Money of one call; None where price or tokens are unknown."""
        if self.price is None or tokens.input is None or tokens.output is None:
            return None
        cached = tokens.cached or 0
        fresh = max(0, tokens.input - cached)
        return (fresh * self.price.input + cached * self.price.cached + tokens.output * self.price.output) / 1e6


def models(file: str | Path | None = None) -> dict[str, Row]:
    """Name → row, the user's own over the shipped ones. Raises BadAgent."""
    found = read_rows(SHIPPED, Row, "models")
    return found | read_rows(Path(file), Row, "models") if file is not None else found


def find_model(name: str, file: str | Path | None = None) -> Row:
    """The row of a name; a name with a slash that has no row is Inspect's own, its price unknown. Raises BadAgent."""
    known = models(file)
    if name in known:
        return known[name]
    if name.startswith(OFFLINE):
        return Row(name=name, provider=name, price=Price(input=0, cached=0, output=0))
    if "/" in name:
        return Row(name=name, provider=name)
    raise BadAgent(
        f"there is no model {name[:80]!r}; expected one of {', '.join(known)}, a provider's own name such as openai/gpt-5, or a row of your own with --models."
    )


def _tell_waits(record: logging.LogRecord) -> bool:
    """A filter that puts Inspect's retries on stderr: they take minutes, and silence looks like work."""
    if " retry " in record.getMessage():
        told = "".join(one for one in record.getMessage().split("-> ")[-1].split(" out-tok")[0] if one.isprintable())[:200]
        print(f"no answer yet: {re.sub(r' .[0-9,]*$', '', told)}", file=sys.stderr, flush=True)
    return record.levelno >= logging.WARNING


def open_model(row: Row) -> "Model":
    """The model as Inspect calls it. Raises BadAgent when its key is not set or its package is not installed."""
    if row.key is not None and not os.environ.get(row.key):
        raise BadAgent(f"the model {row.name} needs a key: set {row.key}. Without one, try --model scripted/steady.")
    from inspect_ai.model import GenerateConfig, get_model

    import popcorn.agents.registry  # noqa: F401  (our own providers, where the package's entry point is not installed)

    retrying = logging.getLogger("inspect_ai.model._model")
    retrying.addFilter(_tell_waits)
    retrying.setLevel(logging.DEBUG)
    settings = {
        "max_connections": row.connections, "reasoning_effort": row.effort, "max_tokens": row.max_tokens, "timeout": row.timeout_s,
        "max_retries": row.retries,
    }  # fmt: skip
    try:
        config = GenerateConfig.model_validate({name: value for name, value in settings.items() if value is not None})
        # a server that asks for no key is still sent one: Inspect's own client insists
        key = "none" if row.key is None and row.provider.startswith("openai-api/") else None
        return get_model(row.provider, base_url=row.endpoint, api_key=key, config=config, memoize=False)
    except Exception as error:  # a provider's missing package or key, in the provider's own words
        said = " ".join(re.sub(r"\[/?[a-z ]+\]|^ERROR: ", "", str(error)).split())[:300].rstrip(".")
        raise BadAgent(
            f"the model {row.name} ({row.provider}) cannot be opened: {said}. Export what it misses; scripted/steady needs no key."
        ) from None
