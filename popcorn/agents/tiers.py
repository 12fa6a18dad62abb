"""Tiers: which tools, which budgets. Read from tiers.toml, and from a file of the user's."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from popcorn.agents.tools.registry import find_tool
from popcorn.errors import BadAgent
from popcorn.schema.case import Frozen

SHIPPED = Path(__file__).parent / "tiers.toml"


class Tier(Frozen):
    """One tier."""

    name: str
    summary: str = ""
    tools: tuple[str, ...] = ()
    """Names of tools; none means one answer whose text holds the kernel."""
    max_turns: int = 10
    max_tool_calls: int = 30
    max_tokens: int | None = None
    """Input and output of all turns together."""
    max_cost_usd: float | None = None
    max_wall_s: float | None = None


def tiers(file: str | Path | None = None) -> dict[str, Tier]:
    """Name → tier, the user's own over the shipped ones. Raises BadAgent for unknown keys and tools."""
    found = _read(SHIPPED)
    return found | _read(Path(file)) if file is not None else found


def find_tier(name: str, file: str | Path | None = None) -> Tier:
    """One tier. Raises BadAgent with the names there are."""
    known = tiers(file)
    if name not in known:
        raise BadAgent(f"there is no tier {name[:60]!r}; expected one of {', '.join(known)}, or a file of your own with --tiers.")
    return known[name]


def _read(path: Path) -> dict[str, Tier]:
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        made = {name: Tier(name=name, **row) for name, row in rows.items()}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError) as error:
        raise BadAgent(f"{path} cannot be read as tiers ({error}); expected a table a tier, as in {SHIPPED.name}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise BadAgent(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}; see {SHIPPED.name}.") from None
    for tier in made.values():
        for tool in tier.tools:
            find_tool(tool)
        if tier.tools and "submit_kernel" not in tier.tools:
            raise BadAgent(f"the tier {tier.name} has tools but not submit_kernel, without which no run can end well; add it.")
    return made
