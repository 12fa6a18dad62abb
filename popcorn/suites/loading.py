"""A problem as something that can be called: model, sizes, inputs, bounds. Needs torch; runs only in a trusted process."""

import contextlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

import popcorn.suites.beside  # noqa: F401 (imported texts ask for it behind the fence, where no file of ours can be opened)
from popcorn.errors import BadProblem
from popcorn.suites.facts import Facts, read_facts
from popcorn.suites.foreign import open_foreign
from popcorn.suites.here import CUDA_HERE, cuda_means_here, devices_here
from popcorn.suites.jitter import Dim, Size, corners, draw_dims
from popcorn.suites.modules import call, call_with_sizes, execute
from popcorn.suites.own_seeds import names_that_seed, seeds_are_the_trials
from popcorn.suites.problems import Problem


@dataclass(frozen=True)
class Loaded:
    """A reference ready to run. Sizes are plain ints by name; what is unknown is None, with the reason under its name in `reasons`."""

    problem: Problem
    """The text that was loaded."""
    Model: type[torch.nn.Module]
    """The reference: `Model(*init_args(dims))(*inputs(dims))`."""
    dims: dict[str, Dim]
    """Sizes of this machine's kind (full or cpu). Empty for a file with fixed shapes."""
    domain: str | None = None
    """Field of the operator."""
    differentiable: bool | None = None
    """Whether gradients are judged; None when the file does not say."""
    tolerance: dict[str, float] = field(default_factory=dict)
    """The file's own floors by precision; the usual ones hold where it is silent."""
    noncontiguous: bool = False
    """Whether candidates must accept inputs that are not contiguous."""
    remarks: tuple[str, ...] = ()
    """What was done to run a foreign file, for the record's notes."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why a figure is missing, by its name."""
    make_inputs: Callable[[Mapping[str, int]], Any] = lambda dims: []
    """Sizes → what get_inputs returns."""
    make_init_args: Callable[[Mapping[str, int]], Any] = lambda dims: []
    """Sizes → what get_init_inputs returns."""
    cost: dict[str, Callable[..., float]] = field(default_factory=dict)
    """The file's own `min_bytes` and `flops`, where it has them."""
    valid: Callable[..., bool] | None = None
    """The file's own rule for sizes that go together."""
    globals: Mapping[str, Any] = field(default_factory=dict)
    """What the file defines."""

    def draw_dims(self, seed: int | str, jitter: bool) -> dict[str, int]:
        """Sizes of one trial from a seed; the nominal ones without jitter. Free of torch's generators."""
        return draw_dims(self.dims, seed, jitter, self.valid)

    def settings(self) -> dict[str, dict[str, int]]:
        """Corners of the ranges by name, those that the file's own rule for sizes allows; without the timed one."""
        return {name: sizes for name, sizes in corners(self.dims).items() if self.valid is None or self.valid(**sizes)}

    def inputs(self, dims: Mapping[str, int]) -> list[Any]:
        """Inputs of these sizes, under whatever generator state and default device the caller has set."""
        theirs = self.problem.origin != "suite"
        with self._here(), seeds_are_the_trials([*self.globals.values()]) if theirs else contextlib.nullcontext():
            made = call(self.problem, "get_inputs", lambda: self.make_inputs(dims))
        return _as_list(self._meant(made), "get_inputs", self.problem)

    def init_args(self, dims: Mapping[str, int]) -> list[Any]:
        """Arguments of Model for these sizes."""
        with self._here():
            made = call(self.problem, "get_init_inputs", lambda: self.make_init_args(dims))
        return _as_list(self._meant(made), "get_init_inputs", self.problem)

    def model(self, dims: Mapping[str, int]) -> torch.nn.Module:
        """A new reference for these sizes, its weights drawn from the caller's generator. BadProblem when it cannot be built."""
        arguments = self.init_args(dims)
        with self._here():
            made: torch.nn.Module = call(self.problem, "Model", lambda: self.Model(*arguments))
        return made

    def _here(self) -> contextlib.AbstractContextManager[None]:
        """What ships names no device; others may say cuda, which on a machine without GPU means the CPU."""
        return contextlib.nullcontext() if self.problem.origin == "suite" else cuda_means_here()

    def _meant(self, made: Any) -> Any:
        return made if self.problem.origin == "suite" else _without_sizes(devices_here(made))

    def min_bytes(self, dims: Mapping[str, int], itemsize: int) -> float | None:
        """Bytes that any implementation must move: inputs and weights read once, outputs written once. `itemsize` of floating elements."""
        return self._cost("min_bytes", {**dims, "itemsize": itemsize})

    def flops(self, dims: Mapping[str, int]) -> float | None:
        """Floating operations that any implementation must do (a multiply-add counts as two)."""
        return self._cost("flops", dims)

    def _cost(self, name: str, sizes: Mapping[str, int]) -> float | None:
        if name not in self.cost:
            return None
        return float(call(self.problem, name, lambda: call_with_sizes(self.cost[name], sizes)))


def load(problem_fields: Mapping[str, Any] | Problem, size: Size = "full", world: int | None = None) -> Loaded:
    """Execute a problem's text in a namespace of its own and return it ready to run.

    problem_fields: a Problem, or its fields as they crossed a process.
    size: `full` for a GPU, `cpu` for the file's smaller sizes.
    world: number of processes, for a problem of communication; its functions find it as `WORLD`.
    Raises BadProblem with the line and the reason when the file cannot be run.
    """
    problem = problem_fields if isinstance(problem_fields, Problem) else Problem.model_validate(dict(problem_fields))
    facts = read_facts(problem.source, problem.id)
    if facts.dialect != "popcorn":
        return _load_foreign(problem, facts, size)
    if facts.ranks is not None and (world is None or world < facts.ranks):
        raise BadProblem(
            f"{problem.id} runs on {facts.ranks} or more processes, never on one; judge it with `popcorn ranks {problem.id} FILE`"
        )
    with contextlib.nullcontext() if problem.origin == "suite" else names_that_seed():
        module = execute(problem)
    dims = {name: dim.at(size) for name, dim in facts.dims.items()}
    if facts.ranks is not None and world is not None:
        dims["WORLD"] = Dim(world, fixed=True)
    functions = {name: _function(module, name) for name in ("get_inputs", "get_init_inputs", "min_bytes", "flops", "valid")}
    for name, function in functions.items():
        _refuse_unknown_parameters(problem, name, function, dims)
    get_inputs, get_init_inputs, valid = functions["get_inputs"], functions["get_init_inputs"], functions["valid"]
    if get_inputs is None or get_init_inputs is None:
        raise BadProblem(f"{problem.id} lacks get_inputs or get_init_inputs; expected both as functions")
    return Loaded(
        problem=problem,
        Model=_model(module, problem),
        dims=dims,
        domain=facts.domain,
        differentiable=facts.differentiable,
        tolerance=facts.tolerance,
        noncontiguous=facts.noncontiguous,
        reasons=_reasons(facts, functions),
        make_inputs=lambda sizes: call_with_sizes(get_inputs, sizes),
        make_init_args=lambda sizes: call_with_sizes(get_init_inputs, sizes),
        cost={name: function for name in ("min_bytes", "flops") if (function := functions[name]) is not None},
        globals=vars(module),
        valid=None if valid is None else lambda **sizes: bool(call_with_sizes(valid, sizes)),
    )


def _load_foreign(problem: Problem, facts: Facts, size: Size) -> Loaded:
    foreign = open_foreign(problem)
    remarks = list(foreign.remarks)
    if size == "cpu":
        remarks.append("the file names no size for machines without GPU; it runs at its own sizes")
        if re.search(r"\bcuda\b", problem.source):
            remarks.append(CUDA_HERE)
    return Loaded(
        problem=problem,
        Model=_model(foreign.module, problem),
        dims=foreign.dims,
        differentiable=facts.differentiable,
        domain=facts.domain,
        tolerance=facts.tolerance,
        noncontiguous=facts.noncontiguous,
        remarks=tuple(remarks),
        reasons=_reasons(facts, {}),
        make_inputs=foreign.inputs,
        make_init_args=foreign.init_args,
        globals=vars(foreign.module),
    )


def _reasons(facts: Facts, functions: Mapping[str, Callable[..., Any] | None]) -> dict[str, str]:
    declared: dict[str, Any] = {
        "min_bytes": functions.get("min_bytes"),
        "flops": functions.get("flops"),
        "differentiable": facts.differentiable,
        "domain": facts.domain,
    }
    return {name: f"the problem file declares no {name}" for name, value in declared.items() if value is None}


def _function(module: Any, name: str) -> Callable[..., Any] | None:
    found = getattr(module, name, None)
    return found if callable(found) else None


def _model(module: Any, problem: Problem) -> type[torch.nn.Module]:
    model = module.Model
    if not (isinstance(model, type) and issubclass(model, torch.nn.Module)):
        raise BadProblem(f"{problem.id}: Model is {type(model).__name__}; expected a class that extends torch.nn.Module")
    _refuse_names_only(problem, model)
    return model


def _refuse_names_only(problem: Problem, model: type[torch.nn.Module]) -> None:
    """An argument that must be given by name could never be given: inputs and constructor's arguments are passed by place."""
    for function in ("__init__", "forward"):
        for one in inspect.signature(getattr(model, function)).parameters.values():
            if one.kind is one.KEYWORD_ONLY and one.default is one.empty:
                raise BadProblem(
                    f"{problem.id}: Model.{function} takes `{one.name}` by name only and without a default, and arguments are passed by place; "
                    "take the `*` out before it, or give it a default"
                )


def _refuse_unknown_parameters(problem: Problem, name: str, function: Callable[..., Any] | None, dims: Mapping[str, Dim]) -> None:
    if function is None:
        return
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in dims and parameter.name != "itemsize" and parameter.default is parameter.empty:
            known = ", ".join(dims)
            raise BadProblem(f"{problem.id}: {name} asks for `{parameter.name}`, which is no size of the file ({known}); give it a default")


def _without_sizes(tree: Any) -> Any:
    """The same with each torch.Size (`x.shape` as an argument of Model) as a tuple, which any process can be handed."""
    if type(tree) in (list, tuple, torch.Size):
        return (list if type(tree) is list else tuple)(_without_sizes(item) for item in tree)
    return {key: _without_sizes(item) for key, item in tree.items()} if type(tree) is dict else tree


def _as_list(made: Any, what: str, problem: Problem) -> list[Any]:
    if not isinstance(made, list | tuple):
        raise BadProblem(f"{problem.id}: {what} returned {type(made).__name__}; let it return a list")
    return list(made)
