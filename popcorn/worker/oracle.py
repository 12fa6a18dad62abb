"""The oracle: the trusted process that runs the reference, makes the inputs, knows the truth, and measures errors against it. Needs torch.

No candidate code ever runs here; what a candidate returned arrives as bytes in a buffer that this process owns.
"""

import copy
import functools
import gc
import os
import time
import traceback
from pathlib import Path
from typing import Any

import torch

from popcorn.errors import PopcornError
from popcorn.verify.compare import compare, glance, limit_errors, moved
from popcorn.verify.health import known_without_looking
from popcorn.verify.inputs import cast, nudge
from popcorn.worker.failure import Failed
from popcorn.worker.holding import Leaves, unpacked
from popcorn.worker.mailbox import Buffer, create, free, pack, size_of, tensors_of
from popcorn.worker.making import Maker
from popcorn.worker.stacking import stacked
from popcorn.worker.subject import TORCH_DTYPES, load_reference, set_precision
from popcorn.worker.trees import (
    dtype_of,
    first_difference,
    has_nonfinite,
    overlapping,
    plain_sizes,
    shape_of,
    steps,
    storage_bytes,
    unjudgeable,
)
from popcorn.worker.truth import Question, Tried, Truth

_SLACK = 1 << 20
_FURTHER = 16  # for integers: two results that lie this many roundings apart are told apart by any honest order of summation
_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "tf32": 2.0**-10, "float16": 2.0**-10, "bfloat16": 2.0**-7}


class Oracle(Maker):
    """Answers the parent's commands, one method each."""

    def __init__(self, device: str, folder: Path):
        super().__init__()
        self.device = torch.device(device)
        self.folder = folder
        self.inbox: Buffer | None = None
        self.outbox: Buffer | None = None
        self.current: Truth | None = None
        self._names = 0
        self._truth_dtype: torch.dtype = torch.float64
        self._truth_reason: str | None = None
        self._dtypes: dict[str, torch.dtype] = {}
        self._ahead: Tried | None = None

    def do_open(self, message: dict) -> dict:
        """Load the problem; say what it declares."""
        from popcorn.suites.loading import load

        self.loaded = load(message["problem"], message["size"])
        self.precision = message["precision"]
        self.gradient = message["gradient"]
        set_precision(self.precision)
        if self.gradient and self.loaded.differentiable is False:
            raise Failed("rejected", "this problem declares that it is not differentiable; leave --backward out")
        nominal = self.loaded.draw_dims(0, False)
        return {
            "nominal": nominal,
            "jitters": any(not dim.fixed and dim.low != dim.high for dim in self.loaded.dims.values()),
            "noncontiguous": self.loaded.noncontiguous,
            "tolerance": (self.loaded.tolerance or {}).get(self.precision),
            "remarks": list(self.loaded.remarks),
            "domain": self.loaded.domain,
        }

    def do_rest(self, message: dict) -> dict:
        """Forget everything and give all memory back: the next evaluation of this problem begins with `open`."""
        for buffer in (self.inbox, self.outbox):
            if buffer is not None:
                free(buffer)
        self.__init__(str(self.device), self.folder)  # type: ignore[misc]
        gc.collect()
        torch.cuda.empty_cache()
        return {}

    def do_examine(self, message: dict) -> dict:
        """Whether the problem that was opened is fit to judge anything: rule, passed, found."""
        from popcorn.verify.judge import FLOORS
        from popcorn.worker.examining import examine_and_time

        floor = (self.loaded.tolerance or {}).get(self.precision) or FLOORS[self.precision]
        checks, figures = examine_and_time(self, floor)
        return {"checks": [vars(check) for check in checks], **figures}

    def do_try(self, message: dict) -> dict:
        """Whether a foreign problem's shapes fit, what it needs, and, where `values` is set, whether it runs on real ones."""
        from popcorn.worker.trying import try_problem

        return try_problem(self, message["values"])

    def do_draw(self, message: dict) -> dict:
        """Sizes of one trial: the setting of that number where the problem has one, else from a seed."""
        listed = list(self.loaded.settings().values())
        if message.get("setting") is not None and message["setting"] < len(listed):
            return {"dims": listed[message["setting"]]}
        return {"dims": self.loaded.draw_dims(message["seed"], True)}

    def do_bounds(self, message: dict) -> dict:
        """Declared minimum bytes and flops at some sizes, None where not declared."""
        itemsize = TORCH_DTYPES[self.precision].itemsize
        passes = 3 if self.gradient else 1  # a backward pass costs two forward ones in flops, and reads and writes the gradients
        min_bytes, flops = self.loaded.min_bytes(message["dims"], itemsize), self.loaded.flops(message["dims"])
        return {"min_bytes": min_bytes and float(min_bytes) * (2 if self.gradient else 1), "flops": flops and float(flops) * passes}

    def do_trial(self, message: dict) -> dict:
        """Make one trial: inputs and weights to the inbox, truth and reference kept here (a timed launch needs no truth).
        `unfit` says why it cannot decide anything."""
        question = Question(**message["question"])
        self.held.inputs.clear()  # the last launch's
        if message["truth"] and self._ahead is not None and self._ahead.question == question:
            made, self._ahead = self._ahead, None
        else:
            made = self._try(question, message["truth"])
        self.current = made.truth or self.current
        inputs, init_args, model, reference, cotangents = made.inputs, made.init_args, made.model, made.reference, made.cotangents
        state = dict(model.state_dict()) if isinstance(model, torch.nn.Module) else {}
        self.inbox = self._grown(self.inbox, "in", size_of([inputs, cotangents, init_args, state]))
        self.outbox = self._grown(self.outbox, "out", 2 * size_of([leaf for _, leaf in reference]))
        assert self.inbox is not None and self.outbox is not None
        self.inbox.reset()
        packed = {"inputs": pack(inputs, self.inbox), "cotangents": pack(cotangents, self.inbox), "differentiable": made.differentiable}
        packed_args, packed_state = pack(plain_sizes(init_args), self.inbox), pack(state, self.inbox)
        self._synchronize()
        forward_only = [leaf for path, leaf in reference if not path.startswith("out['grad']")]
        return {
            "unfit": made.unfit,
            "set": packed,
            "init_args": packed_args,
            "state": packed_state,
            "output_specs": [[list(t.shape), str(t.dtype).removeprefix("torch.")] for t in forward_only if isinstance(t, torch.Tensor)],
            "parameter_names": [name for name, _ in model.named_parameters()] if isinstance(model, torch.nn.Module) else [],
            "expected": [[path, shape_of(leaf), dtype_of(leaf)] for path, leaf in reference],
            "aliases": made.views,  # where the reference returns a view of an input, a candidate may do the same
            "inbox": self.inbox.address,
            "outbox": self.outbox.address,
            "reference_s": made.reference_s,
            "input_bytes": sum(t.numel() * t.element_size() for t in tensors_of(inputs)),
            # an incoming gradient that is handed through takes no memory of its own
            "output_storage_bytes": storage_bytes([(path, leaf) for path, leaf in reference if not overlapping(leaf, cotangents)]),
            "output_bytes": sum(t.numel() * t.element_size() for _, t in reference if isinstance(t, torch.Tensor)),
            "truth_dtype": str(self._truth_dtype).removeprefix("torch."),
            "truth_reason": self._truth_reason,
        }

    def do_trial_ahead(self, message: dict) -> dict:
        """Make a trial that comes next, while the candidate is busy with this one; `trial` then only hands it over. What goes wrong, goes wrong there
        again."""
        current = self.current
        try:
            self._ahead = self._try(Question(**message["question"]), True)
        except Exception:  # one sentence for it is enough, and that is `trial`'s
            self._ahead = None
        finally:
            self.current = current
        return {}

    def _try(self, question: Question, truth: bool) -> Tried:
        from popcorn.worker.examining import unsteady

        started = time.perf_counter()
        try:
            inputs, init_args, model = self._make(question)
            cotangents, differentiable = self._cotangents(model, inputs, question)
            reference = self._answer(model, inputs, cotangents, differentiable, question, self.precision)
        except (Failed, PopcornError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            raise Failed("invalid_reference", f"the reference fails: {type(error).__name__}: {error}", traceback.format_exc()) from error
        views, self._dtypes = self.views, {path: leaf.dtype for path, leaf in reference if isinstance(leaf, torch.Tensor)}
        reference_s = time.perf_counter() - started
        tried = Tried(question, inputs, init_args, model, cotangents, differentiable, reference, views, reference_s, unjudgeable(reference))
        if tried.unfit is None and not self.gradient and (why := unsteady(self, model, inputs, question, reference)):
            raise Failed("invalid_reference", why)
        if tried.unfit is None and truth:
            tried.unfit = self._settle(question, inputs, init_args, cotangents, differentiable, reference, conditioning=True)
            tried.truth = self.current
        return tried

    def do_contents(self, message: dict) -> dict:
        """Fresh input sets for one timed block, one after another in the inbox; as one tensor for each input where `stack` asks for it. Those in
        `keep` are held for judging."""
        questions = [Question(**q) for q in message["questions"]]
        made = [self._inputs(question) for question in questions]
        for index in message.get("keep", ()):
            self.held.keep(questions[index], made[index])
        wide = stacked(made) if message.get("stack") and not self.gradient else None
        if wide is not None:
            self.inbox = self._grown(self.inbox, "in", size_of(wide))
            assert self.inbox is not None
            self.inbox.reset()
            return {"stack": pack(wide, self.inbox), "inbox": self.inbox.address}
        cotangents, differentiable = [], []
        for inputs, question in zip(made, questions, strict=True):
            few, flags = self._cotangents_like(inputs, question)
            cotangents.append(few)
            differentiable.append(flags)
        self.inbox = self._grown(self.inbox, "in", size_of([made, cotangents]))
        assert self.inbox is not None
        self.inbox.reset()
        sets = [
            {"inputs": pack(inputs, self.inbox), "cotangents": pack(few, self.inbox), "differentiable": flags}
            for inputs, few, flags in zip(made, cotangents, differentiable, strict=True)
        ]
        self._synchronize()
        return {"sets": sets, "inbox": self.inbox.address}

    def do_draw_ahead(self, message: dict) -> dict:
        """Draw inputs that `contents` will be asked for. They stay here: nobody sees them before."""
        for question in (Question(**q) for q in message["questions"]):
            if not self.held.knows(question):
                self.held.keep(question, self._inputs(question))
        return {}

    def do_hold(self, message: dict) -> dict:
        """Copy results of timed calls out of the outbox, to be judged later."""
        assert self.outbox is not None
        for item, tree in zip(message["questions"], message["trees"], strict=True):
            self.held.hold(Question(**item), tree, self.outbox)
        self._synchronize()  # the copies are made before anybody writes there again
        return {}

    def do_judge_held(self, message: dict) -> dict:
        """Make the truth of timed input sets again, from their seeds, and judge the results that were timed on them: all, or those `at` some places.

        Without `conditioning` neither the reference's own errors nor those of rounding are known, so the bound is the stricter one: what passes
        it passes; who fails it is asked about again with them.
        """
        judged = []
        held = self.held.results
        for question, got in held if message["at"] is None else [held[index] for index in message["at"]]:
            inputs, init_args, reference = self._inputs(question), self.loaded.init_args(question.dims), None
            cotangents, differentiable = self._cotangents_like(inputs, question)
            if message["conditioning"] or not self._dtypes or self._truth_dtype != torch.float64:
                reference = self._answer(self._model(question, init_args), inputs, cotangents, differentiable, question, self.precision)
            unfit = self._settle(question, inputs, init_args, cotangents, differentiable, reference, message["conditioning"])
            found = {"structure": None, "outputs": []} if unfit else self._judge([got], message["floor"], False, verdict_only=True)
            judged.append({"unfit": unfit, **found})
        return {"judged": judged}

    def do_let_go(self, message: dict) -> dict:
        """The results that were held are judged: forget them."""
        self.held.results.clear()
        return {}

    def do_judge(self, message: dict) -> dict:
        """Compare what lies in the outbox with the current truth. Of `blind`, answers that know nothing, those come back that pass, too."""
        assert self.outbox is not None and self.current is not None
        got = [unpacked(tree, self.outbox, private=False) for tree in message["trees"]]
        blind = known_without_looking(message.get("blind", ()), self.current.truth, self.current.reference, message["floor"])
        return {**self._judge(got, message["floor"], message.get("figures", True)), "blind": blind}

    def _judge(self, arrived: list[Leaves | str], floor: float, figures: bool = True, verdict_only: bool = False) -> dict[str, Any]:
        assert self.current is not None
        got = [one for one in arrived if not isinstance(one, str)]
        for wrong in arrived:
            if isinstance(wrong, str):
                return {"structure": ["wrong_dtype", wrong], "outputs": []}
        problem = first_difference(got[0], self.current.reference)
        if problem is not None:
            return {"structure": list(problem), "outputs": []}
        again = dict(got[1]) if len(got) > 1 and [p for p, _ in got[1]] == [p for p, _ in got[0]] else {}
        outputs = []
        for (path, mine), (_, truth), (_, reference) in zip(got[0], self.current.truth, self.current.reference, strict=True):
            if not isinstance(truth, torch.Tensor):
                continue
            second = again.get(path)
            second = second if isinstance(second, torch.Tensor) and second.shape == mine.shape and second.dtype == mine.dtype else None
            mine, second, reference = steps(mine), steps(second), steps(reference)
            errors = glance(path, mine, truth, floor) if verdict_only and second is None else None
            errors = errors or (None if figures else limit_errors(path, mine, second, truth, floor))
            if errors is None:
                if self.current.condition is not None:
                    self.current.condition()
                sensitivity, flips = self.current.sensitivity.get(path), self.current.flips.get(path)
                errors = compare(path, mine, second, truth, reference if self.current.known else None, sensitivity, floor, flips, figures)
            outputs.append(errors.model_dump())
        return {"structure": None, "outputs": outputs}

    def do_room(self, message: dict) -> dict:
        """Make sure that the outbox holds `bytes`."""
        self.outbox = self._grown(self.outbox, "out", message["bytes"])
        assert self.outbox is not None
        return {"outbox": self.outbox.address}

    def do_save_inbox(self, message: dict) -> dict:
        """The inbox's bytes to a file, for a process that cannot share it."""
        assert self.inbox is not None
        self.inbox.flat[: self.inbox.used].cpu().numpy().tofile(message["path"])
        return {"bytes": self.inbox.used}

    def do_ceilings(self, message: dict) -> dict:
        """Bandwidth and flop rates measured on this device, a CPU's with all of its cores."""
        from popcorn.devices.ceilings import measure_ceilings

        threads = torch.get_num_threads()
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        try:
            return {"ceilings": measure_ceilings(str(self.device), message["seconds"]).model_dump()}
        finally:
            torch.set_num_threads(threads)

    def _settle(
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
            (path, torch.empty_like(leaf, dtype=self._dtypes.get(path, leaf.dtype)) if isinstance(leaf, torch.Tensor) else leaf)
            for path, leaf in wide
        ]
        self.current = Truth(wide, reference or form, known=reference is not None)
        if conditioning and self._truth_dtype == torch.float64:
            self.current.condition = functools.partial(
                self._condition, self.current, question, init_args, inputs, cotangents, differentiable
            )
        return None

    def _condition(self, current: Truth, *asked: Any) -> None:
        """How far rounding of the inputs alone moves the truth, once."""
        current.condition = None
        shifted = self._nudged(1, *asked)
        for path, truth in current.truth:
            if isinstance(truth, torch.Tensor) and truth.is_floating_point() and truth.numel():
                current.sensitivity[path] = moved(truth, shifted[path])
        exact = [(path, t) for path, t in current.truth if isinstance(t, torch.Tensor) and not t.is_floating_point() and not t.is_complex()]
        for way in (_FURTHER, -_FURTHER) if exact else ():
            shifted = self._nudged(way, *asked)
            for path, truth in exact:
                flipped = shifted[path] != truth
                current.flips[path] = current.flips[path] | flipped if path in current.flips else flipped

    def _truth(
        self, question: Question, inputs: list[Any], init_args: Any, cotangents: list[torch.Tensor], differentiable: list[bool]
    ) -> list[tuple[str, Any]] | None:
        """The reference in float64; in float32, and said so, when it insists on that somewhere inside; None when it runs in neither."""
        for dtype in (torch.float64, torch.float32):
            if dtype == torch.float64 and self._truth_dtype != torch.float64:
                continue
            try:
                return self._wide(question, init_args, inputs, cotangents, differentiable, dtype)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:
                self._truth_dtype = torch.float32
                self._truth_reason = f"the reference does not run in {dtype}: {type(error).__name__}: {error}"[:300]
        return None

    def _nudged(
        self, way: int, question: Question, init_args: Any, inputs: list[Any], cotangents: list[torch.Tensor], differentiable: list[bool]
    ) -> dict[str, Any]:
        """The truth of inputs that differ by `way` times their rounding, in a direction that the seed alone decides."""
        generator = torch.Generator(self.device).manual_seed(question.seed ^ 0x0DD)
        nudged = nudge(cast(inputs, torch.float64), way * _EPSILON[self.precision], generator)
        return {path: steps(leaf) for path, leaf in self._wide(question, init_args, nudged, cotangents, differentiable)}

    def _wide(
        self, question: Question, init_args: Any, inputs: list[Any], cotangents: list[torch.Tensor], differentiable: list[bool],
        dtype: torch.dtype = torch.float64,
    ) -> list[tuple[str, Any]]:  # fmt: skip
        """The reference in a wider type, with the very weights that the case's precision rounds to."""
        model = load_reference(self.loaded.Model, init_args, question.init_seed, self.precision, self.device, self.gradient).forward
        model = copy.deepcopy(model).to(dtype) if isinstance(model, torch.nn.Module) else model
        wide_cotangents, wide = [t.to(dtype) for t in cotangents], cast(inputs, dtype)
        made = {
            index for index, (a, b) in enumerate(zip(tensors_of(wide), tensors_of(inputs), strict=True)) if a.data_ptr() != b.data_ptr()
        }
        return self._answer(model, wide, wide_cotangents, differentiable, question, str(dtype).removeprefix("torch."), own=made)

    def _grown(self, buffer: Buffer | None, name: str, size: int) -> Buffer:
        if buffer is not None and buffer.size >= size:
            return buffer
        if buffer is not None:
            free(buffer)
        self._names += 1
        return create(self.folder / name, f"{name}-{self._names}", size + size // 8 + _SLACK, self.device)
