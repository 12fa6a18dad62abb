"""Files of KernelBench and PopcornBench, run unmodified. Needs torch; runs only in a trusted process.

A PopcornBench file draws its sizes inside get_inputs, anew for every tensor, so that two tensors of one trial may disagree. Here a size
is drawn once a trial for each (default, align) and handed to every call that asks for it; it becomes a Dim like those of our own files.
"""

import contextlib
import inspect
import re
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil
import torch
from torch._guards import detect_fake_mode

from popcorn.errors import BadProblem
from popcorn.suites.facts import INJECTED, undefined_names
from popcorn.suites.foreign_inputs import ForeignInputs
from popcorn.suites.here import cuda_means_here
from popcorn.suites.jitter import Dim
from popcorn.suites.modules import call, execute
from popcorn.suites.own_seeds import names_that_seed
from popcorn.suites.problems import Problem

PROBE_S = 30.0
"""Time given to finding out which sizes of a PopcornBench file may change."""
OWN_DRAWS = 8
"""Seeds at which a file is tried with its own draws."""
MEMORY_SHARE = 0.15
"""Share of the free memory that a foreign file's inputs may take on a machine without GPU: a copy, a truth in float64 and outputs come on top."""

_PLAIN = (bool, int, float, str, type(None))
_COLLECTIVES = "kernelbench.distributed_collectives"
ALONE = "it is written for several processes and runs here in one, where nothing is communicated; `popcorn ranks` judges problems that communicate"


@dataclass(frozen=True)
class Foreign:
    """A foreign file, executed."""

    module: types.ModuleType
    """Its namespace."""
    dims: dict[str, Dim]
    """Sizes that it draws and that may change; empty for fixed shapes."""
    inputs: Callable[[Mapping[str, int]], Any]
    """Sizes → what its get_inputs returns."""
    init_args: Callable[[Mapping[str, int]], Any]
    """Sizes → what its get_init_inputs returns."""
    remarks: tuple[str, ...] = field(default=())
    """What was done to make it run."""


def open_foreign(problem: Problem) -> Foreign:
    """Execute a foreign file and find the sizes that it draws. Raises BadProblem with name, line and reason when it cannot run.

    Files that use the injected name are run once at their own sizes and, where they draw sizes, at the smallest and the largest ones.
    """
    missing = undefined_names(problem.source, problem.id, given=frozenset({INJECTED}))
    if missing:
        names = ", ".join(f"`{name}` (line {line})" for name, line in missing[:3])
        raise BadProblem(f"{problem.id} uses {names}, which it never defines; define it in the file or run another problem")
    draws = ForeignInputs()
    with _kernelbench(), cuda_means_here(), names_that_seed():
        module = execute(problem, {INJECTED: draws})
    draws.constants = {name: value for name, value in vars(module).items() if type(value) is int and not name.startswith("_")}

    def make(function: str, dims: Mapping[str, int]) -> Any:
        with _kernelbench(), draws.trial(dims):
            made = getattr(module, function)() if hasattr(module, function) else []
        if made is None and function == "get_init_inputs":  # nothing to give
            made = []
        return _positional(made, module.Model.__init__ if function == "get_init_inputs" else module.Model.forward, function)

    remarks = (ALONE,) if _COLLECTIVES in problem.source or re.search(r"torch\.distributed|\bdist\.", problem.source) else ()
    foreign = Foreign(module, {}, lambda dims: make("get_inputs", dims), lambda dims: make("get_init_inputs", dims), remarks)
    if problem.origin == "popcornbench":
        return _find_dims(problem, foreign, draws)
    return Foreign(module, {}, _within_memory(problem, foreign.inputs), foreign.init_args, remarks)


def _positional(made: Any, target: Callable[..., Any], what: str) -> Any:
    """What a file returned, as arguments in order: a dict, or a list followed by a dict of names (`[[], {"width": 4}]`), is laid out by `target`."""
    if isinstance(made, torch.Tensor):  # one input, not in a list
        return [made]
    named = len(made) == 2 and isinstance(made[0], list) and isinstance(made[1], dict) if isinstance(made, list) else False
    parameters = list(inspect.signature(target).parameters.values())[1:]
    first, given = (made[0], made[1]) if named else ([], made)
    if not isinstance(given, dict) or (named and not set(given) <= {one.name for one in parameters}):
        return made
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    given = _by_place(given, parameters, what)
    unknown = set(given) - {one.name for one in places[len(first) :]}
    if unknown:
        raise BadProblem(
            f"{what} names {', '.join(f'`{str(one)[:40]}`' for one in sorted(unknown, key=str))}, which is no place in the arguments"
        )
    last = max((index for index, one in enumerate(places) if one.name in given), default=-1)
    lacking = [one.name for one in places[len(first) : last + 1] if one.name not in given and one.default is one.empty]
    if lacking:
        raise BadProblem(f"{what} gives no `{lacking[0]}`; expected a value for every argument before the last that it names")
    return [*first, *(given.get(one.name, one.default) for one in places[len(first) : last + 1])]


def _by_place(given: Mapping[str, Any], parameters: list[inspect.Parameter], what: str) -> dict[str, Any]:
    """The named values without those of arguments that can be given by name only and are given their default: kernels are called by place."""
    left = dict(given)
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and one.name in given:
            value = left.pop(one.name)
            same = type(value) is type(one.default) and isinstance(value, _PLAIN) and value == one.default
            if not same:
                usual = "it has no default" if one.default is one.empty else f"its default is {str(one.default)[:40]}"
                raise BadProblem(
                    f"{what} gives `{one.name}`, which can be given by name only, and kernels are called by place ({usual}): "
                    f"take the `*` out before it, or make {str(value)[:40] if isinstance(value, _PLAIN) else 'the value'} its default"
                )
    return left


def _find_dims(problem: Problem, foreign: Foreign, draws: ForeignInputs) -> Foreign:
    """Run at nominal sizes, which records the draws; then hold fixed each size that the reference cannot bear to see changed."""
    started = time.monotonic()
    with _untouched_generators():
        call(problem, "the reference at its own sizes", lambda: _run(foreign, {}))
    remarks = [
        *foreign.remarks,
        "one draw a trial for each size that the file draws, shared by all tensors (the file draws anew for every tensor)",
    ]
    failed = _fails_by_itself(foreign, draws) if draws.dims else 0
    if failed:
        remarks.append(f"runs because one draw is kept a trial: with the file's own draws it fails at {failed} of {OWN_DRAWS} seeds")

    def fails(names: list[str]) -> str | None:
        for end in ("low", "high"):
            dims = {name: getattr(draws.dims[name], end) for name in names}
            try:
                with _untouched_generators(), torch.no_grad():
                    _run(foreign, dims)
            except Exception as error:  # any failure of foreign code at other sizes means: keep the nominal one, and say so
                return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        return None

    moving, reason = list(draws.dims), fails(list(draws.dims))
    if reason:
        kept = [name for name in moving if time.monotonic() - started > PROBE_S or fails([name])]
        moving = [name for name in moving if name not in kept]
        if moving and fails(moving):
            kept, moving = list(draws.dims), []
        remarks.append(f"kept at the file's own size, since the reference fails when it changes ({reason}): {', '.join(kept)}")
    dims = {name: draws.dims[name] for name in moving}
    return Foreign(foreign.module, dims, foreign.inputs, foreign.init_args, tuple(remarks))


def _fails_by_itself(foreign: Foreign, draws: ForeignInputs) -> int:
    """At how many seeds the file fails when every call draws its own size. On fake tensors, which compute shapes alone; 0 where it needs values."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    failed = 0
    with _untouched_generators(), FakeTensorMode():
        try:
            _run(foreign, {})
        except Exception:  # it looks at values, or at something fake tensors lack: nothing is known about other sizes
            return 0
        for seed in range(OWN_DRAWS):
            try:
                with draws.own_draws(seed):
                    _run(foreign, {})
            except Exception:  # any failure of foreign code counts
                failed += 1
    return failed


def _run(foreign: Foreign, dims: Mapping[str, int]) -> None:
    with torch.no_grad():
        foreign.module.Model(*foreign.init_args(dims))(*foreign.inputs(dims))


def _within_memory(problem: Problem, inputs: Callable[[Mapping[str, int]], Any]) -> Callable[[Mapping[str, int]], Any]:
    """On a CPU, refuse inputs that would not fit before making them: some KernelBench problems hold 17 GB."""

    def checked(dims: Mapping[str, int]) -> Any:
        if torch.get_default_device().type == "cpu" and detect_fake_mode() is None:
            needed, free = _input_bytes(inputs, dims), psutil.virtual_memory().available
            if needed is not None and needed > MEMORY_SHARE * free:
                raise BadProblem(
                    f"{problem.id} makes {needed / 1e9:.1f} GB of inputs and this machine has {free / 1e9:.1f} GB free; "
                    f"run it on a GPU or choose a problem with a size for CPUs"
                )
        return inputs(dims)

    return checked


def _input_bytes(inputs: Callable[[Mapping[str, int]], Any], dims: Mapping[str, int]) -> int | None:
    """Bytes of the inputs by a run on fake tensors, which allocates nothing; None where the file looks at its values."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        with _untouched_generators(), FakeTensorMode():
            made = inputs(dims)
    except Exception:  # a real failure shows again, with its line, when the real inputs are made
        return None
    return sum(one.numel() * one.element_size() for one in made if isinstance(one, torch.Tensor))


@contextlib.contextmanager
def _untouched_generators() -> Iterator[None]:
    """Leave torch's generators as they were: finding sizes must not change what a seed gives."""
    on_gpu = torch.get_default_device().type == "cuda"
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if on_gpu else []):
        yield


@contextlib.contextmanager
def _kernelbench() -> Iterator[None]:
    """`import kernelbench.distributed_collectives` works inside, with one rank; sys.modules is as before afterwards."""
    before = {name: sys.modules.get(name) for name in ("kernelbench", _COLLECTIVES)}
    package, collectives = types.ModuleType("kernelbench"), _one_rank()
    package.__path__ = []
    package.distributed_collectives = collectives  # type: ignore[attr-defined]
    sys.modules.update({"kernelbench": package, _COLLECTIVES: collectives})
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def _one_rank() -> types.ModuleType:
    module = types.ModuleType(_COLLECTIVES)

    def refuse(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise BadProblem(f"the file imports `{name}` from {_COLLECTIVES}, which Popcorn does not offer; expected {', '.join(offered)}")

    offered: dict[str, Callable[[], Any]] = {
        "default_device": torch.get_default_device,
        "maybe_init_process_group": lambda: None,
        "is_distributed_run": lambda: False,
        "get_rank": lambda: 0,
        "get_world_size": lambda: 1,
    }
    module.__dict__.update(offered)
    module.__dict__["__getattr__"] = refuse
    return module
