"""Task folders of robust-kbench: `func_forward.py`, `func_backward.py`, `config_forward.json`, `config_backward.json`.

The timed setting is the first of the `single_*` lists; trials draw from it and from the product of the `multi_*` lists.
"""

from pathlib import Path
from typing import Any

from popcorn.errors import BadProblem, PopcornError
from popcorn.suites.facts import parse
from popcorn.suites.importing.found import Found, files_below, read_json, read_python, read_text, snake
from popcorn.suites.importing.settings import MAX_SETTINGS, connect, product

_WAYS = ("forward", "backward")


def looks_like(folder: Path) -> bool:
    """Whether some folder holds `func_forward.py` or `func_backward.py`."""
    return bool(_tasks(folder))


def read(folder: Path) -> list[Found]:
    """One problem for each direction of each task."""
    return [_found(path, folder.resolve(), way) for path, way in _tasks(folder)]


def _tasks(folder: Path) -> list[tuple[Path, str]]:
    names = {f"func_{way}.py": way for way in _WAYS}
    return [(path, names[path.name]) for path in files_below(folder.resolve(), ".py") if path.name in names]


def _found(path: Path, root: Path, way: str) -> Found:
    task = path.parent.relative_to(root)
    level = next((part for part in task.parts if part.startswith("level")), "")
    name = snake(path.parent.name if path.parent != root else root.name)
    key = "/".join(filter(None, [f"L{level.removeprefix('level_').removeprefix('level')}" if level else "", name]))
    key += "" if way == "forward" else "_backward"
    about: dict[str, Any] = {"key": key, "name": name, "where": str(path.relative_to(root))}
    try:
        source, remarks = read_python(path), []
        parse(source, path.name)
        config = path.with_name(f"config_{way}.json")
        told = read_json(config) if config.is_file() else {}
        if not isinstance(told, dict):
            raise BadProblem(f"{config.name} is not an object; expected single_input_configs and the like")
        if not told:
            remarks.append(f"there is no {config.name}; it runs with the defaults of its own functions")
        settings = product(told, "single")[:1]
        if any(key.startswith("multi_") for key in told):
            settings += [one for one in product(told, "multi") if one not in settings]
        if len(settings) > MAX_SETTINGS:
            remarks.append(f"{len(settings) - MAX_SETTINGS} of its {len(settings)} settings are left out")
        settings = settings[:MAX_SETTINGS]
        if len(settings) > 1:
            remarks.append(f"{len(settings)} settings, one of them a trial; the first of the single ones is timed")
        return Found(**about, source=source + connect(settings, way == "backward"), remarks=tuple(remarks), files=_candidates(path, way))
    except PopcornError as error:
        return Found(**about, refused=str(error))


def _candidates(path: Path, way: str) -> dict[str, str]:
    """Kernels that the task ships, to keep beside it."""
    kernel = path.with_name(f"{way}.cu")
    try:
        return {f"{way}.cu": read_text(kernel)} if kernel.is_file() else {}
    except PopcornError:
        return {}
