"""Settings: a task's input × init × shared configurations as one list, and the text that lets a trial draw one of them."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from popcorn.errors import BadProblem

MAX_SETTINGS = 256
"""Longer lists are cut, and said."""

_NAME = re.compile(r"[A-Za-z_]\w{0,60}")


def product(config: Mapping[str, Any], kind: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(init, inputs) of each setting of `kind` (`single` or `multi`): init × input × shared, the shared values winning in both.

    A list that is missing or empty counts as one setting without values. Raises BadProblem where a part is not a list of objects.
    """
    parts = [_part(config, f"{kind}_{part}_configs") for part in ("init", "input", "shared")]
    made = [({**init, **shared}, {**given, **shared}) for init, given, shared in itertools.product(*parts)]
    return made


def _part(config: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    part = config.get(name) or [{}]
    if not (isinstance(part, list) and all(isinstance(one, dict) for one in part)):
        raise BadProblem(f'`{name}` is not a list of objects; expected [{{"batch_size": 8}}, …]')
    for key in itertools.chain.from_iterable(part):
        if not _NAME.fullmatch(key):
            raise BadProblem(f"`{name}` has the key {key[:40]!r}; expected a parameter's name")
    return part


def connect(settings: Sequence[tuple[dict[str, Any], dict[str, Any]]], backward: bool) -> str:
    """Text to append to a task's own: `SETTING` is a size that a trial draws, and Model and get_inputs read their arguments from it.

    The first of the settings is timed; it gets the highest number, so that a choice up to it, as on a machine without GPU, holds them all.
    """
    ordered = [*settings[1:], *settings[:1]]
    inits, inputs = [init for init, _ in ordered], [given for _, given in ordered]
    return f'''

# --- how Popcorn connects this task: a trial draws one of its settings

import inspect as _inspect

from popcorn.suites.jitter import Dim

{"DIFFERENTIABLE = True" if backward else ""}
SETTING = Dim({len(ordered)}, among={tuple(range(1, len(ordered) + 1))})
_INIT_SETTINGS = {inits!r}
_INPUT_SETTINGS = {inputs!r}
_task_inputs = get_inputs


def _named(function, values, skip):
    """Values in the order of the function's parameters, up to the last one that is given."""
    parameters = list(_inspect.signature(function).parameters.values())[skip:]
    parameters = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    while parameters and parameters[-1].name not in values:
        parameters.pop()
    return [values.get(one.name, one.default) for one in parameters]


def _accepted(function, values):
    parameters = _inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return values
    return {{name: value for name, value in values.items() if name in {{one.name for one in parameters}}}}


def get_inputs(SETTING=SETTING):
    made = _task_inputs(**_accepted(_task_inputs, _INPUT_SETTINGS[SETTING - 1]))
    return list(made.values()) if isinstance(made, dict) else list(made) if isinstance(made, (list, tuple)) else [made]


def get_init_inputs(SETTING=SETTING):
    return _named(Model.__init__, _INIT_SETTINGS[SETTING - 1], 1)
'''
