"""From a question to inputs, a model and its answer: the reference, run as its problem says. Needs torch; in the oracle."""

import contextlib
import traceback
from collections.abc import Collection, Iterator
from typing import Any

import torch

from popcorn.errors import PopcornError
from popcorn.suites.loading import Loaded
from popcorn.suites.modules import reason_of
from popcorn.verify.inputs import Drawing, cast, lay_out
from popcorn.worker.failure import Failed
from popcorn.worker.holding import Held
from popcorn.worker.mailbox import leaves, tensors_of
from popcorn.worker.subject import TORCH_DTYPES, Subject, load_reference, seed_all
from popcorn.worker.trees import another_answer, overlapping, refuse_odd, replace_tensors, same_values, to_device
from popcorn.worker.truth import Question, Tried


class Maker:
    """One problem on one device at one precision."""

    device: torch.device
    loaded: Loaded
    precision: str
    gradient: bool

    def __init__(self) -> None:
        self.held = Held()
        self.drew = False
        """Whether the last answer moved torch's generator."""
        self.kept = False
        """Whether the model held something else after it: running statistics, a state."""
        self.views: list[str] = []
        """Where the last answer was a view of an input."""
        self._cotangent_specs: dict[str, list[tuple[torch.Size, torch.dtype]]] = {}

    def _inputs(self, question: Question) -> list[Any]:
        held = self.held.take(question)
        if held is not None:
            return held
        seed_all(question.seed)
        with torch.device(self.device), Drawing(question.distribution):
            inputs = self.loaded.inputs(question.dims)
        refuse_odd(inputs)
        inputs = to_device(inputs, self.device)
        return lay_out(cast(inputs, TORCH_DTYPES[self.precision]), question.layout)

    def own_precision(self, dims: dict[str, int]) -> str:
        """The element type of the floating inputs that the problem's text makes, where all have one; else what was asked for."""
        with self.device:
            made = tensors_of(self.loaded.inputs(dims))
        kinds = {str(t.dtype).removeprefix("torch.") for t in made if t.is_floating_point() and t.element_size() > 1}
        return kinds.pop() if len(kinds) == 1 and kinds <= TORCH_DTYPES.keys() else self.precision

    def _make(self, question: Question) -> tuple[list[Any], Any, Any]:
        inputs, init_args = self._inputs(question), self._init_args(question)
        return inputs, init_args, self._model(question, init_args)

    def _init_args(self, question: Question) -> Any:
        return model_arguments(self.loaded, question.dims, question.init_seed)

    def _model(self, question: Question, init_args: Any) -> Any:
        return load_reference(self.loaded.Model, init_args, question.init_seed, self.precision, self.device, self.gradient).forward

    def refuse_unrepeatable(self, tried: Tried) -> None:
        """Raises Failed for a problem that makes other inputs or weights from the same seed, and of them another answer: an honest one would be held
        to another's truth. Memory that nobody filled has any values, and may be handed over where nothing depends on it. Nothing is said where there is no room for a second."""
        try:
            what = self._unrepeatable(tried)
        except (MemoryError, torch.OutOfMemoryError):
            return
        except Exception as error:
            raise Failed(
                "invalid_reference", f"the reference fails when it is made a second time: {reason_of(error, self.precision)}"
            ) from error
        if what is not None:
            raise Failed(
                "invalid_reference",
                f"{what} gives other values at every call, whatever the seed (a counter, the clock, the system's entropy), so no answer "
                "could be held to its truth; let it draw from torch's generator",
            )

    def _unrepeatable(self, tried: Tried) -> str | None:
        inputs, _, model = self._make(tried.question)
        for what, before, now in (
            ("get_inputs", tensors_of(tried.inputs), tensors_of(inputs)),
            ("Model", weights(tried.model), weights(model)),
        ):
            if len(before) == len(now) and all(same_values(a, b) for a, b in zip(before, now, strict=True)):
                continue
            again = self._answer(model, inputs, tried.cotangents, tried.differentiable, tried.question, self.precision)
            if another_answer(tensors_of(dict(tried.reference)), tensors_of(dict(again))):
                return what
        return None

    def rehearse(self, question: Question) -> None:
        """An answer that nobody needs, for what only a first one does."""
        inputs, _, model = self._make(question)
        self._answer(model, inputs, *self._cotangents(model, inputs, question), question, self.precision)
        self._synchronize()

    def _cotangents(self, model: Any, inputs: list[Any], question: Question) -> tuple[list[torch.Tensor], list[bool]]:
        """Random cotangents for every differentiable output, and which inputs take part."""
        if not self.gradient:
            return [], [False for _ in tensors_of(inputs)]
        torch.manual_seed(question.forward_seed)
        leaves_ = [t.detach().requires_grad_(True) if t.is_floating_point() else t for t in tensors_of(inputs)]
        outputs = tensors_of(model(*replace_tensors(inputs, leaves_)))
        specs = [(t.shape, t.dtype) for t in outputs if t.requires_grad]
        self._cotangent_specs[str(question.dims)] = specs
        if not specs:
            raise Failed("rejected", "no output of the reference carries a gradient; leave --backward out")
        return self._cotangents_like(inputs, question)

    def _cotangents_like(self, inputs: list[Any], question: Question) -> tuple[list[torch.Tensor], list[bool]]:
        """Cotangents for sizes that `_cotangents` has met."""
        if not self.gradient:
            return [], [False for _ in tensors_of(inputs)]
        generator = torch.Generator(self.device).manual_seed(question.seed ^ 0x5EED)
        specs = self._cotangent_specs[str(question.dims)]
        drawn = [torch.randn(shape, generator=generator, device=self.device).to(dtype) for shape, dtype in specs]
        return drawn, [t.is_floating_point() for t in tensors_of(inputs)]

    def _answer(
        self, model: Any, inputs: list[Any], cotangents: list[torch.Tensor], differentiable: list[bool], question: Question, precision: str,
        own: Collection[int] = (),
    ) -> list[tuple[str, Any]]:  # fmt: skip
        """Outputs (and gradients) of a model on private copies of the inputs; those in `own`, by number, are nobody else's already."""
        subject = Subject(model, dict(model.named_parameters()) if self.gradient else {}, self.gradient)
        fresh = [t.detach() if index in own else t.detach().clone() for index, t in enumerate(tensors_of(inputs))]
        for tensor, wanted in zip(fresh, differentiable, strict=True):
            tensor.requires_grad_(wanted)
        seed_all(question.forward_seed)
        state, held = self._generator_state(), held_by(model)
        dtype = TORCH_DTYPES[precision]
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype if precision == "float64" else before)
        try:
            result = subject.call(replace_tensors(inputs, fresh), cotangents)
        finally:
            torch.set_default_dtype(before)
        self.drew, self.kept = not torch.equal(state, self._generator_state()), held_by(model) != held
        self.views = overlapping(result, fresh)
        return [(path, leaf.detach() if isinstance(leaf, torch.Tensor) else leaf) for path, leaf in leaves(result, "out")]

    def _generator_state(self) -> torch.Tensor:
        return torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else torch.get_rng_state()

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


@contextlib.contextmanager
def faults_are_the_references(precision: str) -> Iterator[None]:
    """Whatever the problem's own code, run at a precision, raises within is told as a fault of the problem. Lack of memory passes through."""
    try:
        yield
    except (Failed, PopcornError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise Failed("invalid_reference", f"the reference fails: {reason_of(error, precision)}", traceback.format_exc()) from error


def model_arguments(loaded: Loaded, dims: dict[str, int], init_seed: int) -> Any:
    """Arguments of Model, the same under the same seed."""
    seed_all(init_seed)
    arguments = loaded.init_args(dims)
    refuse_odd(arguments, "get_init_inputs")
    return arguments


def weights(model: Any) -> list[torch.Tensor]:
    """What a model's state_dict holds."""
    return tensors_of(dict(model.state_dict())) if isinstance(model, torch.nn.Module) else []


def held_by(model: Any) -> list[tuple[int, int]]:
    """What a model's modules hold, by identity and version: the same before and after a call that keeps nothing."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    held = [value for one in modules for values in (vars(one), one._buffers, one._parameters) for value in values.values()]
    return [(id(value), value._version if isinstance(value, torch.Tensor) else 0) for value in held]
