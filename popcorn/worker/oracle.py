"""The oracle: the trusted process that runs the reference, makes the inputs, knows the truth, and measures errors against it. Needs torch.

No candidate code ever runs here; what a candidate returned arrives as bytes in a buffer that this process owns.
"""

import gc
import os
import time
from pathlib import Path
from typing import Any

import torch

from popcorn.measure.timing import CudaTimer, event_bubble_s
from popcorn.verify.compare import compare, glance, limit_errors
from popcorn.verify.health import known_without_looking
from popcorn.verify.judge import EARLIER, GRADIENT
from popcorn.worker.failure import Failed
from popcorn.worker.holding import Leaves, unpacked
from popcorn.worker.mailbox import Buffer, create, free, pack, size_of, tensors_of
from popcorn.worker.making import Maker, faults_are_the_references
from popcorn.worker.stacking import stacked
from popcorn.worker.subject import TORCH_DTYPES, set_precision
from popcorn.worker.trees import (
    dtype_of,
    first_difference,
    overlapping,
    plain_sizes,
    shape_of,
    steps,
    storage_bytes,
    unjudgeable,
)
from popcorn.worker.truth import Question, Tried
from popcorn.worker.truths import Truths

_SLACK = 1 << 20


class Oracle(Maker):
    """Answers the parent's commands, one method each."""

    def __init__(self, device: str, folder: Path):
        super().__init__()
        self.device = torch.device(device)
        self.folder = folder
        self.inbox: Buffer | None = None
        self.outbox: Buffer | None = None
        self.truths = Truths(self)
        self._names = 0
        self._ahead: Tried | None = None
        self._earlier: list[tuple[str, Any]] | None = None
        """The reference's answer in the first trial, until a later one shows that who kept it would be wrong."""

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

        if self.loaded.problem.origin != "suite":
            self.precision = self.own_precision(self.loaded.draw_dims(0, False))
        floor = (self.loaded.tolerance or {}).get(self.precision) or FLOORS[self.precision]
        checks, figures = examine_and_time(self, floor)
        return {"checks": [vars(check) for check in checks], **figures}

    def do_try(self, message: dict) -> dict:
        """Whether a foreign problem's shapes fit, what it needs, and, where `values` is set, whether it runs on real ones."""
        from popcorn.worker.trying import try_problem

        # a forward that is compiled is tried without: compiling takes a minute on a busy machine, and ends by a signal where tensors hold nothing
        with torch.compiler.set_stance("force_eager"):
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
        self.truths.current = made.truth or self.truths.current
        inputs, init_args, model, reference, cotangents = made.inputs, made.init_args, made.model, made.reference, made.cotangents
        state = dict(model.state_dict()) if isinstance(model, torch.nn.Module) else {}
        self.inbox = self._grown(self.inbox, "in", size_of([inputs, cotangents, init_args, state]))
        self.outbox = self._grown(self.outbox, "out", 2 * size_of([leaf for _, leaf in reference]))
        assert self.inbox is not None and self.outbox is not None
        self.inbox.reset()
        packed = {"inputs": pack(inputs, self.inbox), "cotangents": pack(cotangents, self.inbox), "differentiable": made.differentiable}
        packed_args, packed_state = pack(plain_sizes(init_args), self.inbox), pack(state, self.inbox)
        self._synchronize()
        forward_only = [leaf for path, leaf in reference if not path.startswith(GRADIENT)]
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
            "truth_dtype": str(self.truths.dtype).removeprefix("torch."),
            "truth_reason": self.truths.reason,
        }

    def do_trial_ahead(self, message: dict) -> dict:
        """Make a trial that comes next, while the candidate is busy with this one; `trial` then only hands it over. What goes wrong, goes wrong there
        again."""
        current = self.truths.current
        try:
            self._ahead = self._try(Question(**message["question"]), True)
        except Exception:  # one sentence for it is enough, and that is `trial`'s
            self._ahead = None
        finally:
            self.truths.current = current
        return {}

    def _try(self, question: Question, truth: bool) -> Tried:
        from popcorn.worker.examining import unsteady

        started = time.perf_counter()
        with faults_are_the_references(self.precision):
            inputs, init_args, model = self._make(question)
            cotangents, differentiable = self._cotangents(model, inputs, question)
            reference = self._answer(model, inputs, cotangents, differentiable, question, self.precision)
        views, self.truths.dtypes = self.views, {path: leaf.dtype for path, leaf in reference if isinstance(leaf, torch.Tensor)}
        reference_s = time.perf_counter() - started
        tried = Tried(question, inputs, init_args, model, cotangents, differentiable, reference, views, reference_s, unjudgeable(reference))
        if tried.unfit is None and not self.gradient and (why := unsteady(self, model, inputs, question, reference)):
            raise Failed("invalid_reference", why)
        if tried.unfit is None and truth:
            if self.loaded.problem.origin != "suite" and self.truths.current is None:  # the first of a text that nobody has checked
                self.refuse_unrepeatable(tried)
            tried.unfit = self.truths.settle(question, inputs, init_args, cotangents, differentiable, reference, conditioning=True)
            tried.truth = self.truths.current
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
            inputs, init_args, reference, unfit = self._inputs(question), self._init_args(question), None, None
            cotangents, differentiable = self._cotangents_like(inputs, question)
            if message["conditioning"] or not self.truths.dtypes or self.truths.dtype != torch.float64:
                reference = self._answer(self._model(question, init_args), inputs, cotangents, differentiable, question, self.precision)
                unfit = unjudgeable(reference)  # an exponential that overflows where its truth does not
            unfit = unfit or self.truths.settle(question, inputs, init_args, cotangents, differentiable, reference, message["conditioning"])
            found = {"structure": None, "outputs": []} if unfit else self._judge([got], message["floor"], False, verdict_only=True)
            judged.append({"unfit": unfit, **found})
        return {"judged": judged}

    def do_let_go(self, message: dict) -> dict:
        """The results that were held are judged: forget them."""
        self.held.results.clear()
        return {}

    def do_judge(self, message: dict) -> dict:
        """Compare what lies in the outbox with the current truth. Of `blind`, answers that know nothing, those come back that pass, too."""
        assert self.outbox is not None and self.truths.current is not None
        got = [unpacked(tree, self.outbox, private=False) for tree in message["trees"]]
        truth, reference, asked = self.truths.current.truth, self.truths.current.reference, message.get("blind", ())
        blind = known_without_looking(asked, truth, reference, message["floor"], self._earlier)
        self._earlier = (self._earlier or reference) if EARLIER in blind else None
        return {**self._judge(got, message["floor"], message.get("figures", True)), "blind": blind}

    def _judge(self, arrived: list[Leaves | str], floor: float, figures: bool = True, verdict_only: bool = False) -> dict[str, Any]:
        assert self.truths.current is not None
        got = [one for one in arrived if not isinstance(one, str)]
        for wrong in arrived:
            if isinstance(wrong, str):
                return {"structure": ["wrong_dtype", wrong], "outputs": []}
        problem = first_difference(got[0], self.truths.current.reference)
        if problem is not None:
            return {"structure": list(problem), "outputs": []}
        again = dict(got[1]) if len(got) > 1 and [p for p, _ in got[1]] == [p for p, _ in got[0]] else {}
        outputs = []
        for (path, mine), (_, truth), (_, reference) in zip(got[0], self.truths.current.truth, self.truths.current.reference, strict=True):
            if not isinstance(truth, torch.Tensor):
                continue
            second = again.get(path)
            second = second if isinstance(second, torch.Tensor) and second.shape == mine.shape and second.dtype == mine.dtype else None
            mine, second, reference = steps(mine), steps(second), steps(reference)
            errors = glance(path, mine, truth, floor) if verdict_only and second is None else None
            errors = errors or (None if figures else limit_errors(path, mine, second, truth, floor))
            if errors is None:
                if self.truths.current.condition is not None:
                    self.truths.current.condition()
                sensitivity, flips = self.truths.current.sensitivity.get(path), self.truths.current.flips.get(path)
                errors = compare(
                    path, mine, second, truth, reference if self.truths.current.known else None, sensitivity, floor, flips, figures
                )
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

    def do_bubble(self, message: dict) -> dict:
        """What the timer adds to a kernel on this GPU."""
        return {"bubble_s": event_bubble_s(CudaTimer(message["cache_bytes"]))}

    def do_ceilings(self, message: dict) -> dict:
        """Bandwidth and flop rates measured on this device, a CPU's with all of its cores."""
        from popcorn.devices.ceilings import measure_ceilings

        threads = torch.get_num_threads()
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        try:
            return {"ceilings": measure_ceilings(str(self.device), message["seconds"]).model_dump()}
        finally:
            torch.set_num_threads(threads)

    def _grown(self, buffer: Buffer | None, name: str, size: int) -> Buffer:
        if buffer is not None and buffer.size >= size:
            return buffer
        if buffer is not None:
            free(buffer)
        self._names += 1
        return create(self.folder / name, f"{name}-{self._names}", size + size // 8 + _SLACK, self.device)
