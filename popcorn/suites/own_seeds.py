"""Foreign files that seed generators of their own (`torch.manual_seed(42)` in get_inputs): within a trial, that gives what the trial's seed and
theirs say together, so that every trial has other values and the same trial the same ones. Needs torch.
"""

import contextlib
import hashlib
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

_GENERATOR = torch.Generator
_trial: int | None = None
"""Seed of the trial whose inputs are being made; None while nothing is drawn."""


@contextlib.contextmanager
def seeds_are_the_trials(own: Iterable[Any] = ()) -> Iterator[None]:
    """Within: a seed that the file gives to torch, random or numpy is mixed with the one that torch's generator has now; what it leaves to chance
    (`default_rng()`) follows from that alone. Generators among `own`, the file's globals, begin anew, too.

    It does not reach `torch.default_generator`, numpy's SeedSequence, the clock or the system's entropy.
    """
    global _trial
    before, _trial = _trial, torch.initial_seed()
    try:
        with names_that_seed():
            for place, one in enumerate(own):
                _begin_anew(one, place)
            yield
    finally:
        _trial = before


@contextlib.contextmanager
def names_that_seed() -> Iterator[None]:
    """Within: the functions and classes by which files seed are ours, also where a file that is executed imports them by name."""
    replaced = [(home, name, getattr(home, name), ours) for home, name, ours in _ours()]
    for home, name, _, ours in replaced:
        setattr(home, name, ours)
    try:
        yield
    finally:
        for home, name, theirs, _ in replaced:
            setattr(home, name, theirs)


def _ours() -> list[tuple[Any, str, Any]]:
    """(module, name, what takes its place)."""
    seed = random.seed
    names: list[tuple[Any, str, Any]] = [
        (torch, "manual_seed", _mixing(torch.manual_seed)),
        (torch.random, "manual_seed", _mixing(torch.random.manual_seed)),
        (torch.cuda, "manual_seed", _mixing(torch.cuda.manual_seed)),
        (torch.cuda, "manual_seed_all", _mixing(torch.cuda.manual_seed_all)),
        (torch, "Generator", _seeded(torch.Generator)),
        (random, "seed", lambda a=None, version=2: seed(_mixed(a), version)),
        (random, "Random", _Random),
    ]
    if "numpy" in sys.modules:
        drawn = sys.modules["numpy"].random
        names += [
            (drawn, "seed", _mixing(drawn.seed, bits=32)),
            (drawn, "RandomState", _old(drawn.RandomState)),
            (drawn, "default_rng", _mixing(drawn.default_rng)),
            *((drawn, name, _mixing(getattr(drawn, name))) for name in ("PCG64", "MT19937", "Philox", "SFC64")),
        ]
    return names


def _mixing(theirs: Callable[..., Any], bits: int = 63) -> Callable[..., Any]:
    return lambda seed=None, *more: theirs(_mixed(seed, bits), *more)


def _mixed(seed: Any, bits: int = 63) -> Any:
    """A file's seed as it is; during a trial, bits of it and of the trial's."""
    if _trial is None or (not isinstance(seed, int | float | str | bytes | list | tuple | None) and not hasattr(seed, "__index__")):
        return seed
    return int.from_bytes(hashlib.blake2b(f"{_trial} {seed!r}".encode(), digest_size=8).digest(), "big") >> (64 - bits)


def _old(theirs: Any) -> type:
    class RandomState(theirs):
        def __init__(self, seed: Any = None) -> None:
            super().__init__(_mixed(seed, bits=32))

        def seed(self, seed: Any = None) -> None:
            super().seed(_mixed(seed, bits=32))

    return RandomState


def _seeded(theirs: type[torch.Generator]) -> type[torch.Generator]:
    class Seeded(theirs):  # type: ignore[valid-type, misc]
        """A new one has always the same seed, if nobody gives it another."""

        def __new__(cls, device: Any = "cpu") -> Any:
            made = super().__new__(cls, device)
            return made if _trial is None else made.manual_seed(made.initial_seed())

        def manual_seed(self, seed: int) -> Any:
            return super().manual_seed(_mixed(seed))

    return Seeded


class _Random(random.Random):
    def seed(self, a: Any = None, version: int = 2) -> None:
        super().seed(_mixed(a), version)


def _begin_anew(one: Any, place: int) -> None:
    """Let a generator that the file made when it was executed begin where the trial says."""
    if isinstance(one, _GENERATOR):
        _GENERATOR.manual_seed(one, _mixed(place))
    elif isinstance(one, random.Random):
        random.Random.seed(one, _mixed(place))
    elif any(kind.__module__.startswith("numpy.random") for kind in type(one).__mro__):
        if hasattr(one, "bit_generator"):
            one.bit_generator.state = type(one.bit_generator)(_mixed(place)).state
        elif hasattr(one, "set_state"):
            one.seed(_mixed(place, bits=32))
