"""Op: what the library offers under one name, its reference, who carries it out. Imports without torch; calling needs it.

    @op(x="... D", weight="D", out="... D")
    def scaled_tanh(x, weight):
        return torch.tanh(x) * weight

    @scaled_tanh.implementation("mine")
    def _(x, weight):
        return fused_scaled_tanh(x, weight)

The reference is plain torch and says what is right. A call is carried out by the implementation that the op's chooser picks; which one,
and why, is told by `explain`. Ops that ship with Popcorn are folders of `ops/library`: the declaration, `reference.py`, one
`impl_<name>.py` for each implementation, found by its name.
"""

import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from popcorn.errors import PopcornError
from popcorn.ops import loading
from popcorn.ops.calls import ACCEPTED, Accepts, Call, Rejected
from popcorn.ops.compiled import NAME as COMPILED
from popcorn.ops.compiled import compiled
from popcorn.ops.declaring import check_formulas, check_implementation, check_reference
from popcorn.ops.implementation import Implementation, adopted_folder, hash_text, load, part, traceable
from popcorn.ops.signature import BadOp, Signature
from popcorn.ops.texts import file_of, text_of

LIBRARY = Path(__file__).parent / "library"
REFERENCE = "torch"
"""Name of the implementation that every op has: its reference."""


class UnknownOp(PopcornError):
    """An op or an implementation that does not exist; the text names the nearest."""

    exit_code = 68


_declared: dict[str, "Op"] = {}


class Chooser(Protocol):
    """Picks an implementation for a call."""

    def choose(self, op: "Op", call: Call) -> Implementation:
        """One that accepts the call; the reference always does."""

    def explain(self, op: "Op", call: Call) -> Any:
        """What was weighed, as something that can be printed."""


class Op:
    """One operation: signature, reference, implementations, and what it must cost. Call it as the reference is called."""

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, Any],
        out: str | tuple[str, ...],
        *,
        reference: Callable[..., Any] | None = None,
        differentiable: bool = True,
        min_bytes: Callable[..., float] | None = None,
        flops: Callable[..., float] | None = None,
        workspace: Callable[..., float] | None = None,
        inputs: Callable[..., list[Any]] | None = None,
        fixed: tuple[str, ...] = (),
        tolerance: Mapping[str, float] | None = None,
        tolerance_why: str = "",
        plan: Any = None,
        file: str | None = None,
    ):
        self.name = name
        self.signature = Signature.read(arguments, out)
        self.differentiable = differentiable
        self.fixed, self.plan, self.file = fixed, plan, file
        self.tolerance, self.tolerance_why = dict(tolerance or {}), tolerance_why
        self._min_bytes, self._flops, self._workspace, self._inputs = min_bytes, flops, workspace, inputs
        self._reference = reference
        check_formulas(name, {"min_bytes": min_bytes, "flops": flops, "workspace": workspace, "inputs": inputs}, self.signature)
        self._implementations: dict[str, Implementation] = {}
        self._complete = file is not None
        self._plans: dict[Any, Callable[..., Any]] = {}
        self.chooser: Chooser | None = None
        """None: the measured one of popcorn.dispatch."""

    # -- what it is ----------------------------------------------------------------------------------------------------------------

    @property
    def folder(self) -> Path | None:
        """The folder of an op that ships with Popcorn."""
        return None if self.file else LIBRARY / self.name

    @property
    def reference(self) -> Callable[..., Any]:
        """Plain torch: what is right."""
        if self._reference is None:
            reference = getattr(part(self.name, "reference", self.name), self.name)
            check_reference(self.name, reference, self.signature)
            self._reference = reference
        return self._reference

    @property
    def reference_source(self) -> str:
        """Its text."""
        return (self.folder / "reference.py").read_text(encoding="utf-8") if self.folder else text_of(self.reference)

    @property
    def hash(self) -> str:
        """16 hex digits of the reference's text: records of another hash answer another question."""
        return hash_text(self.reference_source)

    def min_bytes(self, dims: Mapping[str, int], itemsize: int) -> float:
        """Bytes that any implementation must move: declared, or every input read once and every output written once."""
        if self._min_bytes is None:
            return self.signature.min_bytes(dims, itemsize)
        return self._min_bytes(**dims, itemsize=itemsize)

    def flops(self, dims: Mapping[str, int]) -> float | None:
        """Floating operations that any implementation must do, None where not declared."""
        return None if self._flops is None else self._flops(**dims)

    def resident_bytes(self, dims: Mapping[str, int], itemsize: int) -> float:
        """Inputs, outputs and the reference's declared `workspace` (in elements): what must fit before a case is tried."""
        return self.min_bytes(dims, itemsize) + (0 if self._workspace is None else self._workspace(**dims) * itemsize)

    def make_inputs(self, dims: Mapping[str, int]) -> list[Any]:
        """Fresh tensors of these sizes, on torch's default device, in its default element type. Needs torch."""
        if self._inputs is not None:
            return self._inputs(**dims)
        import torch

        bounds = {**self.signature.scalars, **dims}
        return [
            torch.randint(int(bounds.get(s.below, s.below)), s.shape(dims)) if s.below else torch.randn(s.shape(dims))
            for s in self.signature.inputs
        ]  # fmt: skip

    # -- implementations -----------------------------------------------------------------------------------------------------------

    @property
    def implementations(self) -> dict[str, Implementation]:
        """All of them by name, those that cannot be loaded here too; the reference last. Needs torch."""
        if not self._complete:
            for name, (path, ours) in self._files().items():
                one = load(self.name, path, ours)
                if ours and one.run is not None:
                    check_implementation(self.name, name, one.run, self.signature, (), (REFERENCE, COMPILED))
                self._implementations.setdefault(name, one)
            self._complete = True
        if REFERENCE not in self._implementations:  # it comes last
            self._implementations.setdefault(COMPILED, compiled(self))
            self._implementations[REFERENCE] = self._as_implementation()
        return self._implementations

    def _files(self) -> dict[str, tuple[Path, bool]]:
        """Name → file, and whether it ships: those that a user adopted come last and take no name of ours."""
        assert self.folder is not None
        found: dict[str, tuple[Path, bool]] = {}
        for folder, ours in ((self.folder, True), (adopted_folder(self.name), False)):
            for path in sorted(folder.glob("impl_*.py")):
                found.setdefault(path.stem.removeprefix("impl_"), (path, ours))
        return found

    def _as_implementation(self) -> Implementation:
        return Implementation(REFERENCE, "torch", self.reference, lambda call: ACCEPTED, self.reference_source, self.hash)

    def load_only(self, name: str) -> Implementation:
        """One implementation, without the others: packages of other people take seconds to import. Raises KeyError. Needs torch."""
        if not self._complete and name not in self._implementations:
            if name in (files := self._files()):
                return load(self.name, *files[name])
            if name in (COMPILED, REFERENCE):
                return compiled(self) if name == COMPILED else self._as_implementation()
        return self.implementations[name]

    def implementation(
        self, name: str, language: str = "torch", accepts: Accepts = lambda call: ACCEPTED
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a function as an implementation: `@my_op.implementation("mine")`. Raises BadOp where it is none of this op."""
        if not isinstance(name, str):
            raise BadOp(f'an implementation needs a name: @{self.name}.implementation("mine")')

        def register(run: Callable[..., Any]) -> Callable[..., Any]:
            check_implementation(self.name, name, run, self.signature, getattr(accepts, "sizes", ()), (REFERENCE, COMPILED))
            source = text_of(run)
            self._implementations[name] = Implementation(name, language, run, accepts, source, hash_text(source))
            self._implementations.pop(REFERENCE, None)  # it comes last
            self._plans.clear()
            return run

        return register

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """This implementation and no other: `rms_norm["popcorn"](x, weight)`. Raises UnknownOp, with the reason where it cannot run here."""
        found = self.implementations.get(name)
        if found is None:
            raise UnknownOp(f"{self.name} has no implementation {name!r}; it has {', '.join(self.implementations)}")
        if found.run is None:
            answer = found.accepts(Call({}, "float32", "cpu"))
            raise UnknownOp(
                f"{self.name}[{name!r}] cannot run here: {answer.reason if isinstance(answer, Rejected) else 'it did not load'}"
            )
        return traceable(found)

    # -- calls ---------------------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, bench: bool = False, **kwargs: Any) -> Any:
        """Carry it out by the implementation that the chooser picks. `bench=True` measures this case first where no record knows it."""
        return (_carry_out or _load_calling())(self, args, kwargs, bench)

    def call_of(self, *args: Any, **kwargs: Any) -> Call:
        """The call as a chooser sees it. Raises Mismatch where the arguments do not fit. Needs torch."""
        from popcorn.ops.calling import describe

        return describe(self, args, kwargs)

    def specialize(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """The chosen implementation for arguments like these, frozen: a plain callable that asks nothing. Needs torch."""
        return self._choose(self.call_of(*args, **kwargs)).run  # type: ignore[return-value]

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """Candidates, refusals with reasons, evidence and its distance, expected gain, confidence: print it."""
        return self._chooser().explain(self, self.call_of(*args, **kwargs))

    def benchmark(self, *args: Any, **options: Any) -> Any:
        """Judge and measure every implementation at arguments like these; see popcorn.bench.benchmark."""
        loading.stop_here()
        return importlib.import_module("popcorn.bench").benchmark(self, *args, **options)

    def load(self) -> "Op":
        """Load the reference and the way of a call now rather than with the first call. Needs torch."""
        _ = self.reference
        _load_calling()
        return self

    def register(self) -> "Op":
        """Make an op that does not ship with Popcorn known by its name."""
        _declared[self.name] = self
        return self

    def forget(self) -> None:
        """Forget what was chosen: the next call asks the chooser again."""
        self._plans.clear()

    def reload(self) -> None:
        """Forget which implementations there are, too: files may have come or gone. Those of a user's own op stay."""
        self._plans.clear()
        if self.file is None:
            self._implementations.clear()
            self._complete = False

    def _chooser(self) -> Chooser:
        # named, not imported: the library works without what lies above it
        return self.chooser or importlib.import_module("popcorn.dispatch").CHOOSER

    def _choose(self, call: Call) -> Implementation:
        chosen = self._chooser().choose(self, call)
        assert chosen.run is not None
        return chosen

    def __reduce__(self) -> tuple[Any, ...]:
        """By name: an op is one of its kind in a process, and models that hold one are saved, copied and sent to others."""
        return find_op, (self.name, self.file)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join(self.signature.names)})>"


def op(out: Any = None, name: str | None = None, **declared: Any) -> Callable[[Callable[..., Any]], Op]:
    """Make an op of a reference: `@op(x="... D", weight="D", out="... D")`, scalars by their default: `eps=1e-6`.

    out: the sizes of what it returns; a tuple of them for several tensors. Options of Op (`flops=…`, `min_bytes=…`,
    `differentiable=False`, …) may stand among the arguments. Raises BadOp for what does not fit the reference.
    """
    if not isinstance(out, (str, tuple, list)):
        raise BadOp(
            'an op declares its arguments and out=, the sizes of what it returns: @op(x="... D", out="... D"); several: out=("... D", "...")'
        )
    options = {key: declared.pop(key) for key in list(declared) if key in _OPTIONS}
    stray = next((key for key, value in declared.items() if callable(value)), None)
    if stray is not None:
        raise BadOp(f"{stray} is no option of an op; the options are {', '.join(sorted(_OPTIONS))}")

    def declare(reference: Callable[..., Any]) -> Op:
        called, file = name or reference.__name__, str(file_of(reference))
        known = _declared.get(called)
        if called in list_ops() or (known is not None and known.file != file):
            raise BadOp(
                f"there is an op {called} already ({known.file if known else LIBRARY / called}); choose another name, or give it one: @op(name=…)"
            )
        made = Op(called, declared, tuple(out) if isinstance(out, list) else out, reference=reference, file=file, **options)
        check_reference(called, reference, made.signature)
        made.__doc__ = reference.__doc__
        return made.register()

    return declare


_OPTIONS = frozenset(inspect.signature(Op.__init__).parameters) - {"self", "name", "arguments", "out", "reference", "file"}


def list_ops() -> list[str]:
    """Names of the ops that ship with Popcorn."""
    return sorted(path.parent.name for path in LIBRARY.glob("*/reference.py"))


def find_op(name: str, file: str | None = None) -> Op:
    """An op by name; with `file`, the one that this Python file declares (the file is run up to its first measurement). Raises UnknownOp."""
    if file is not None and name not in _declared:
        loading.run_for_definitions(file)
    if name in _declared:
        return _declared[name]
    if not (LIBRARY / name / "reference.py").is_file():
        known = [*list_ops(), *_declared]
        near = difflib.get_close_matches(name, known, 3)
        told = f"the nearest is {', '.join(near)}" if near else f"there are {', '.join(known)}"
        raise UnknownOp(f"there is no op {name!r}; {told}")
    return getattr(part(name, "__init__", name), name)


_carry_out: Callable[..., Any] | None = None


def _load_calling() -> Callable[..., Any]:
    """The way of a call, loaded with the first one: it needs torch, and an import in every call would cost as much as the call."""
    global _carry_out
    from popcorn.ops.calling import carry_out

    _carry_out = carry_out
    return carry_out
