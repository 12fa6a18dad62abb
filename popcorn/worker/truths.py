"""The truth of one set of inputs after another: the reference in float64, and how far rounding alone moves it. Needs torch; in the oracle."""

import contextlib
import copy
import functools
from typing import Any

import torch

from popcorn.verify.compare import moved
from popcorn.verify.inputs import cast, nudge
from popcorn.worker.casts import WideCasts, narrow
from popcorn.worker.mailbox import tensors_of
from popcorn.worker.making import Maker
from popcorn.worker.trees import has_nonfinite, steps
from popcorn.worker.truth import Question, Truth

_FURTHER = 16  # for integers: two results that lie this many roundings apart are told apart by any honest order of summation
WIDENED = "where the reference rounds to a narrower type inside, this does not"
_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "tf32": 2.0**-10, "float16": 2.0**-10, "bfloat16": 2.0**-7}


class Truths:
    """What the oracle holds results against."""

    def __init__(self, maker: Maker):
        self.maker = maker
        self.current: Truth | None = None
        self.dtype: torch.dtype = torch.float64
        """In which it is computed."""
        self.widened = False
        """Whether the reference's own casts are left out of it."""
        self.reason: str | None = None
        """Why that is not float64, or what was done so that it is."""
        self.dtypes: dict[str, torch.dtype] = {}
        """Element types of the reference's own outputs, by path."""

    def settle(
        self, question: Question, inputs: list[Any], init_args: Any, cotangents: list[torch.Tensor], differentiable: list[bool],
        reference: list[tuple[str, Any]] | None, conditioning: bool,
    ) -> str | None:  # fmt: skip
        """Compute the truth (and how far rounding alone moves it) and keep it; the reason when it cannot decide anything.

        Without a reference the truth in the reference's element types stands in for its form.
        """
        wide = self._truth(question, inputs, init_args, cotangents, differentiable) or reference
        if wide is None:
            return "the reference runs in no wider type"
        if has_nonfinite(wide):
            return "the truth is NaN or infinite"
        wide = [(path, steps(leaf)) for path, leaf in wide]
        # of a form nothing but the form is looked at
        form = [
            (path, torch.empty_like(leaf, dtype=self.dtypes.get(path, leaf.dtype)) if isinstance(leaf, torch.Tensor) else leaf)
            for path, leaf in wide
        ]
        self.current = Truth(wide, reference or form, known=reference is not None)
        if conditioning and self.dtype == torch.float64:
            self.current.condition = functools.partial(
                self._condition, self.current, question, init_args, inputs, cotangents, differentiable
            )
        return None

    def _condition(self, current: Truth, *asked: Any) -> None:
        """How far rounding of the inputs alone moves the truth, once."""
        current.condition = None
        shifted = self._nudged(1, False, *asked)
        for path, truth in current.truth:
            if isinstance(truth, torch.Tensor) and truth.is_floating_point() and truth.numel():
                current.sensitivity[path] = moved(truth, shifted[path])
        exact = [(path, t) for path, t in current.truth if isinstance(t, torch.Tensor) and not t.is_floating_point() and not t.is_complex()]
        # of equal values, zeros above all, nobody says which index comes first; whether a zero is positive is plain
        for least in {truth.dtype != torch.bool for _, truth in exact}:
            for way in (_FURTHER, -_FURTHER):
                shifted = self._nudged(way, least, *asked)
                for path, truth in exact:
                    if (truth.dtype != torch.bool) == least and shifted[path].shape == truth.shape:
                        current.flips[path] = current.flips.get(path, False) | (shifted[path] != truth)

    def _truth(self, *asked: Any) -> list[tuple[str, Any]] | None:
        """The reference in float64, its own casts widened where it insists on half precision inside; in float32, and said so, when it runs in neither;
        None when it does not run in that either."""
        rounded = None
        if self.dtype == torch.float64:
            if not self.widened:
                rounded = self._attempted(torch.float64, False, *asked)
                if rounded is not None and not narrow(rounded):
                    return rounded
            wide = self._attempted(torch.float64, True, *asked)
            if wide is not None:
                self.widened, self.reason = True, WIDENED
            if wide is not None or rounded is not None:
                return wide or rounded
            self.dtype = torch.float32
        return self._attempted(torch.float32, False, *asked)

    def _attempted(self, dtype: torch.dtype, widened: bool, *asked: Any) -> list[tuple[str, Any]] | None:
        try:
            return self._wide(dtype, widened, *asked)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            self.reason = f"the reference does not run in {dtype}: {type(error).__name__}: {error}"[:300]
            return None

    def _nudged(
        self, way: int, least: bool, question: Question, init_args: Any, inputs: list[Any], cotangents: list[torch.Tensor],
        differentiable: list[bool],
    ) -> dict[str, Any]:  # fmt: skip
        """The truth of inputs that differ by `way` times their rounding, in a direction that the seed alone decides."""
        generator = torch.Generator(self.maker.device).manual_seed(question.seed ^ 0x0DD)
        nudged = nudge(cast(inputs, torch.float64), way * _EPSILON[self.maker.precision], generator, least)
        asked = question, nudged, init_args, cotangents, differentiable
        return {path: steps(leaf) for path, leaf in self._wide(torch.float64, self.widened, *asked)}

    def _wide(
        self, dtype: torch.dtype, widened: bool,
        question: Question, inputs: list[Any], init_args: Any, cotangents: list[torch.Tensor], differentiable: list[bool],
    ) -> list[tuple[str, Any]]:  # fmt: skip
        """The reference in a wider type, with the very weights that the case's precision rounds to."""
        model = self.maker._model(question, init_args)
        model = copy.deepcopy(model).to(dtype) if isinstance(model, torch.nn.Module) else model
        wide_cotangents, wide = [t.to(dtype) for t in cotangents], cast(inputs, dtype)
        made = {
            index for index, (a, b) in enumerate(zip(tensors_of(wide), tensors_of(inputs), strict=True)) if a.data_ptr() != b.data_ptr()
        }
        with WideCasts(dtype) if widened else contextlib.nullcontext():
            return self.maker._answer(model, wide, wide_cotangents, differentiable, question, str(dtype).removeprefix("torch."), own=made)
