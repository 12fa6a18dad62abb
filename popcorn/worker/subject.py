"""A subject in its process: the reference or a candidate, loaded and callable in the same way. Needs torch."""

import importlib.util
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from popcorn.suites.here import cuda_means_here
from popcorn.verify.judge import GRADIENTS
from popcorn.worker.failure import Failed
from popcorn.worker.mailbox import tensors_of
from popcorn.worker.submission import adapt_submission, model_maker, prepare_submission

TORCH_DTYPES = {
    "float64": torch.float64, "float32": torch.float32, "tf32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
}  # fmt: skip


def set_precision(precision: str) -> None:
    """The same policy on every side: float32 means float32; tf32 products only where the case says tf32."""
    allowed = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


@dataclass
class Subject:
    """A callable with its parameters by the reference's names."""

    forward: Callable[..., Any]
    parameters: dict[str, torch.Tensor]
    gradient: bool = False
    copied: bool = False
    """Whether weights that the model made itself were overwritten with the reference's."""

    def call(self, inputs: Sequence[Any], cotangents: Sequence[torch.Tensor] = ()) -> Any:
        """One call. With gradients: the outputs, then the gradient of each differentiable input and parameter."""
        if not self.gradient:
            with torch.no_grad():
                return self.forward(*inputs)
        return self._call_with_gradients(inputs, cotangents)

    def _call_with_gradients(self, inputs: Sequence[Any], cotangents: Sequence[torch.Tensor]) -> Any:
        leaves = [t for t in tensors_of(list(inputs)) if t.requires_grad]
        wanted = leaves + list(self.parameters.values())
        outputs = self.forward(*inputs)
        differentiable = [t for t in tensors_of(outputs) if t.requires_grad]
        if len(differentiable) != len(cotangents):
            raise Failed("wrong_shape", f"{len(differentiable)} outputs carry a gradient, {len(cotangents)} were expected")
        gradients = torch.autograd.grad(differentiable, wanted, list(cotangents), allow_unused=True)
        names = [f"input[{index}]" for index in range(len(leaves))] + list(self.parameters)
        filled = {
            name: torch.zeros_like(source) if gradient is None else gradient
            for name, source, gradient in zip(names, wanted, gradients, strict=True)
        }
        return {"out": outputs, GRADIENTS: filled}


def seed_all(seed: int) -> None:
    """The generators that a problem's file may draw from: torch's, Python's, and numpy's where it is loaded."""
    # not torch.manual_seed: while CUDA is not in use it notes three stack traces for later each time, ten times what a small input takes to draw
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def load_reference(model_class: type, init_args: Any, seed: int, precision: str, device: torch.device, gradient: bool) -> Subject:
    """The problem's Model under a seed, on the device, at the precision."""
    with cuda_means_here():
        model = _construct(model_class, init_args, seed, precision, device)
    refuse_lazy(model)
    return Subject(model, dict(model.named_parameters()) if gradient else {}, gradient)


def refuse_lazy(model: torch.nn.Module) -> None:
    """Raises Failed for a model whose weights the first call would make: nobody could be handed them before."""
    lazy = next((name for name, one in model.named_parameters() if torch.nn.parameter.is_lazy(one)), None)
    if lazy is not None:
        raise Failed(
            "invalid_reference", f"`{lazy}` has no size before the first call (a Lazy module); let Model.__init__ give it its sizes"
        )


@dataclass(frozen=True)
class CandidateFile:
    """What is needed to load a candidate: its text on disk, or the library built from it."""

    path: Path
    language: str
    library: Path | None


def import_candidate(file: CandidateFile) -> ModuleType:
    """Executes the candidate's module text. Its exceptions pass through."""
    spec = importlib.util.spec_from_file_location("candidate", file.path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module  # triton and inspect look modules up by name
    prepare_submission(file.path.read_text(encoding="utf-8", errors="replace"))
    spec.loader.exec_module(module)
    adapt_submission(module)
    model_maker(vars(module))
    return module


def load_candidate(
    module: ModuleType | None,
    file: CandidateFile,
    init_args: Any,
    seed: int,
    precision: str,
    device: torch.device,
    gradient: bool,
    state: dict[str, torch.Tensor],
    parameter_names: Sequence[str],
    output_specs: list[tuple[tuple[int, ...], torch.dtype]],
    copies: bool = True,
) -> Subject:
    """A candidate with the reference's weights.

    A Python candidate is constructed under the reference's own seed, the contract of such files; where its state then has the reference's
    names and other values, they are copied, unless `copies` is False: it may hold them transposed or scaled. A native one gets the weights as inputs.
    """
    if file.library is not None:
        return _load_native(file.library, init_args, state, parameter_names, output_specs, device, gradient)
    assert module is not None
    model = _construct(module.ModelNew, init_args, seed, precision, device)
    copied = copies and _copy_state(model, state)
    return Subject(model, _parameters(model, state, parameter_names) if gradient else {}, gradient, copied)


def _construct(model_class: Callable[..., Any], init_args: Any, seed: int, precision: str, device: torch.device) -> torch.nn.Module:
    seed_all(seed)
    arguments = init_args if isinstance(init_args, (list, tuple)) else [init_args]
    model = model_class(*arguments)
    if isinstance(model, torch.nn.Module):
        model = model.to(device)._apply(lambda t: _at_precision(t, TORCH_DTYPES[precision]))
    return model


def _at_precision(t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A weight at the case's precision. Complex ones stay complex: `Module.to` would leave their real part."""
    if t.is_complex():
        return t.to(dtype.to_complex()) if dtype.itemsize >= 4 else t
    return t.to(dtype) if t.is_floating_point() else t


def _copy_state(model: Any, state: dict[str, torch.Tensor]) -> bool:
    """Whether any weight was another one."""
    if not isinstance(model, torch.nn.Module):
        return False
    own, copied = model.state_dict(), False
    with torch.no_grad():
        for name, value in state.items():
            mine = own.get(name)
            if mine is not None and mine.shape == value.shape and not torch.equal(mine, value.to(mine.dtype)):
                mine.copy_(value)
                copied = True
    return copied


def _parameters(model: Any, state: dict[str, torch.Tensor], names: Sequence[str]) -> dict[str, torch.Tensor]:
    own = dict(model.named_parameters()) if isinstance(model, torch.nn.Module) else {}
    if all(name in own for name in names):
        return {name: own[name] for name in names}
    # other names: taken in order, where count and shapes are the same
    values = list(own.values())
    if len(values) == len(names) and all(v.shape == state[n].shape for v, n in zip(values, names, strict=True)):
        return dict(zip(names, values, strict=True))
    raise Failed("rejected", f"gradients of the parameters {', '.join(names)} are asked for, and ModelNew has {', '.join(own) or 'none'}")


def _load_native(
    library: Path,
    init_args: Any,
    state: dict[str, torch.Tensor],
    parameter_names: Sequence[str],
    output_specs: list[tuple[tuple[int, ...], torch.dtype]],
    device: torch.device,
    gradient: bool,
) -> Subject:
    from popcorn.toolchain.native_module import load_native

    scalars = [float(v) for v in (init_args if isinstance(init_args, (list, tuple)) else []) if isinstance(v, (int, float))]
    weights = {name: value.detach().requires_grad_(gradient and name in parameter_names) for name, value in state.items()}
    module = load_native(library, output_specs, device)(list(weights.values()), scalars)
    return Subject(module, {name: weights[name] for name in parameter_names} if gradient else {}, gradient)
