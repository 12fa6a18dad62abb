"""One side of a comparison: a process that holds one subject and runs it as the parent says. Needs torch.

The reference's sides and the candidate's run this same code, so that whatever it costs, it costs both. In a candidate's process nothing
here is trusted by the parent: outputs are judged elsewhere, and the times it reports are held against the parent's own clock.
"""

import ctypes
import functools
import gc
import mmap
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from popcorn.measure.timing import make_timer
from popcorn.worker.failure import Failed, failure_of
from popcorn.worker.flags import precision_flags, restore_precision, snapshot
from popcorn.worker.mailbox import DTYPES, Buffer, Full, attach, copy_of, detach, pack, tensors_of, unpack
from popcorn.worker.making import Maker, model_arguments
from popcorn.worker.places import Places
from popcorn.worker.planting import slowed
from popcorn.worker.stacking import slots_of
from popcorn.worker.subject import CandidateFile, Subject, import_candidate, load_candidate, load_reference, set_precision
from popcorn.worker.trees import describe, overlapping, packed_or_described, private_copy, same_values, stash
from popcorn.worker.truth import Question

_HEAP_BYTES = 2 << 30
_M_PERTURB = -6  # glibc: fill every allocation with a byte
_libc = ctypes.CDLL(None)


class Side:
    """Answers the parent's commands, one method each."""

    def __init__(self, role: str, device: str, cache_bytes: int, folder: Path):
        self.role = role
        self.device = torch.device(device)
        self.folder = folder
        self.built_here: list[dict[str, Any]] = []
        self._grown = False
        self.cache_bytes = cache_bytes
        self.file: CandidateFile | None = None
        self.module: Any = None
        self.model_class: Any = None
        self.subject: Subject | None = None
        self.slots: list[tuple[list[Any], list[torch.Tensor]]] = []
        self.kept: list[Any] = []
        self.places: Places | None = None
        self._buffers: dict[str, Buffer] = {}
        self._timer: Any = None
        self._flags = snapshot()
        self._clean = precision_flags()

    def do_import(self, message: dict) -> dict:
        """Execute the candidate's text (or the problem's, on the reference's side). Builds happen here, through the parent."""
        started = time.perf_counter()
        if self.role != "candidate":
            from popcorn.suites.loading import load

            self.loaded = load(message["problem"], message["size"])
            self.model_class = self.loaded.Model
            if message.get("compile"):
                self.model_class = _compiled(self.model_class)
            if message.get("implementation"):
                from popcorn.ops.judged import model_class

                self.model_class = self._guard(lambda: model_class(**message["implementation"]))
            return {"import_s": time.perf_counter() - started}
        library = Path(message["library"]) if message["library"] else None
        self.file = CandidateFile(Path(message["path"]), message["language"], library)
        if library is None:
            self.module = self._guard(lambda: import_candidate(self.file))  # type: ignore[arg-type]
        return {"import_s": time.perf_counter() - started, "built_here": self.built_here[:20]}

    def do_rest(self, message: dict) -> dict:
        """Give back everything but the process and what it has loaded: a reference waits for the next evaluation of its problem."""
        self.subject = self.places = None
        self.slots, self.kept = [], []
        for buffer in self._buffers.values():
            detach(buffer)
        self._buffers.clear()
        gc.collect()
        torch.cuda.empty_cache()
        return {}

    def do_rehearse(self, message: dict) -> dict:
        """One call of the reference on inputs of its own, and the timer's buffers: what a GPU loads and takes once for a process. Whether it went
        well; where it does not, a later call says so."""
        maker = Maker()
        maker.device, maker.loaded, maker.precision, maker.gradient = self.device, self.loaded, message["precision"], message["gradient"]
        set_precision(message["precision"])
        question = Question(**message["question"])
        try:
            maker.rehearse(question)
        except Exception:
            return {"rehearsed": False}
        torch.cuda.empty_cache()
        self._need_timer()
        return {"rehearsed": True}

    def do_construct(self, message: dict) -> dict:
        """A fresh model with the weights and scalars of one trial."""
        restore_precision(self._clean)  # what a module switches at import is not its to keep
        set_precision(message["precision"])
        declared = precision_flags()
        self._flags.update(declared)
        self.subject = None
        inbox = self._attach(message["inbox"], writable=False)
        if self.role != "candidate":
            # a reference's config objects have methods, too; an implementation has nothing to construct
            made = model_arguments(self.loaded, message["dims"], message["init_seed"]) if self.role == "reference" else []
            args = (made, message["init_seed"], message["precision"], self.device, message["gradient"])
            self.subject = load_reference(self.model_class, *args)
            return {}
        init_args, state = unpack(message["init_args"], inbox), unpack(message["state"], inbox)
        specs = [(tuple(shape), DTYPES[dtype]) for shape, dtype in message["output_specs"]]
        self.subject = self._guard(
            lambda: load_candidate(
                self.module, self.file, init_args, message["init_seed"], message["precision"], self.device,  # type: ignore[arg-type]
                message["gradient"], state, message["parameter_names"], specs, message["copies"],
            )
        )  # fmt: skip
        restore_precision(declared)  # nor what it switches in its constructor
        # but a file of another type than float32 says so at its head, and needs it
        self._flags["default_dtype"] = snapshot()["default_dtype"]
        return {"copied": self.subject.copied}

    def do_take(self, message: dict) -> dict:
        """Private copies of input sets, one slot each."""
        if self.device.type == "cpu" and message.get("footprint") and not self._grown:
            # the heap's pages are touched once, here: a call that gets fresh ones pays three times its own time for them, by luck alone
            self._grown = True
            torch.ones(min(_HEAP_BYTES, message["footprint"]) // 4 + 1)
        self.places = None
        self.slots = []  # freed first: the new ones find the old ones' memory, and results their own, block after block
        self.slots = self._slots(message, private=True)
        self._synchronize()
        return {}

    def do_run(self, message: dict) -> dict:
        """Slot 0 twice, under different poison in freshly allocated memory; both results go to the outbox. Not timed, but the first call is."""
        outbox = self._attach(message["outbox"], writable=True)
        outbox.reset()
        inputs, cotangents = self.slots[0]
        given = [*tensors_of(inputs), *cotangents]
        originals = [copy_of(t) for t in given]
        subject = self._need_subject()
        trees, first_s = [], None
        for poison in (0x80, 0x38):
            self._poison(poison)
            torch.manual_seed(message["forward_seed"])
            start = time.perf_counter()
            tree = self._guard(functools.partial(subject.call, *self.slots[0]))
            self._guard(self._synchronize)
            first_s = first_s if first_s is not None else time.perf_counter() - start
            trees.append(tree)
        _libc.mallopt(_M_PERTURB, 0)
        mutated = [i for i, (now, before) in enumerate(zip(given, originals, strict=True)) if not same_values(now, before)]
        handed_through = overlapping(trees[0], cotangents)  # the gradient of a sum is the incoming one: autograd gives the very tensor
        reply: dict[str, Any] = {
            "first_call_s": first_s,
            "mutated": mutated,
            "aliases_input": overlapping(trees[0], inputs),
            "shared_output": [path for path in overlapping(trees[0], trees[1]) if path not in handed_through],
        }
        try:
            reply["trees"] = [pack(tree, outbox) for tree in trees]
        except Full:
            reply["trees"] = [describe(trees[0])]
        self._synchronize()
        reply["flags"] = self._changed_flags()
        return reply

    def do_evict(self, message: dict) -> dict:
        """Cold caches for whoever runs next on these cores: asked of a process of its own, which nobody can have patched."""
        self._need_timer().evict(message["look"])
        return {}

    def do_first(self, message: dict) -> dict:
        """One call of slot 0, for what only a first call does."""
        subject = self._need_subject()
        torch.manual_seed(message["forward_seed"])
        self._guard(functools.partial(subject.call, *self.slots[0]))
        self._guard(self._synchronize)
        return {}

    def do_block(self, message: dict) -> dict:
        """Time the slots in windows of `per_window` calls; keep a copy of each result. Seconds per call of each window."""
        subject, timer = self._need_subject(), self._need_timer()
        if self.device.type == "cpu":
            timer.evicted = message.get("evicted", False)
        per_window, planted_s = message["per_window"], message.get("planted_s") or 0.0
        torch.manual_seed(message["forward_seed"])
        calls = [functools.partial(subject.call, *slot) for slot in self.slots]
        if planted_s:
            calls = [slowed(call, planted_s, self.device) for call in calls]  # type: ignore[misc]
        windows = [calls[i : i + per_window] for i in range(0, len(calls), per_window)]
        aliens: list[str] = []
        kept_by_slot = self.kept

        def keep(index: int, result: Any) -> None:
            while len(kept_by_slot) <= index:
                kept_by_slot.append(None)
            kept_by_slot[index] = stash(kept_by_slot[index], result, aliens)

        samples = self._guard(lambda: timer.time(windows, keep))
        if self.device.type == "cpu" and torch.get_num_threads() > 1:
            # OpenMP's workers spin for a while after the last region: let them come to rest before the other side's turn
            time.sleep(0.003)
        return {"samples_s": samples, "aliens": aliens[:5], "flags": self._changed_flags()}

    def do_give(self, message: dict) -> dict:
        """The kept results of some calls of the last block, to the outbox."""
        outbox = self._attach(message["outbox"], writable=True)
        outbox.reset()
        trees = [packed_or_described(self.kept[index], outbox) for index in message["indices"]]
        self._synchronize()
        return {"trees": trees}

    def do_attach(self, message: dict) -> dict:
        """Open the buffers that the next command uses."""
        inbox = self._attach(message["inbox"], writable=False)
        if self.device.type == "cpu":
            inbox.flat[:: mmap.PAGESIZE].sum()  # the first touch of a page takes as long as reading it
        self._attach(message["outbox"], writable=True)
        return {}

    def do_batch(self, message: dict) -> dict:
        """One call on each of some input sets, read where they lie, timed by the parent alone. Every result goes to the outbox, or stays where it
        is for the parent to read there."""
        subject = self._need_subject()
        if message["stay"]:
            return self._batch_that_stays(subject, message)
        outbox = self._attach(message["outbox"], writable=True)
        outbox.reset()
        torch.manual_seed(message["forward_seed"])
        slots = self._slots(message, private=False)

        def run() -> list[Any]:
            # one result at a time, as a user would: keeping all of them costs fresh pages in every call
            return [packed_or_described(subject.call(*slot) if message["call"] else self._read(slot), outbox) for slot in slots]

        trees = self._guard(run)
        self._synchronize()
        return {"trees": trees}

    def _batch_that_stays(self, subject: Subject, message: dict) -> dict:
        places = self.places = Places()  # the last batch's results are let go, so that the next find their memory
        torch.manual_seed(message["forward_seed"])
        slots = self._slots(message, private=False)

        def answer(slot: Any) -> Any:
            return subject.call(*slot) if message["call"] else self.kept[0]

        self._guard(lambda: places.fill(slots, answer, message.get("choice")))
        return places.told()

    def do_row(self, message: dict) -> dict:
        """`count` calls in a row over the last block's input sets; the last result alone goes to the outbox. Timed by the parent alone."""
        subject, slots = self._need_subject(), self.slots
        outbox = self._attach(message["outbox"], writable=True)
        outbox.reset()
        torch.manual_seed(message["forward_seed"])

        def run() -> Any:
            result = None
            for index in range(message["count"]):
                result = subject.call(*slots[index % len(slots)])
            return result

        result = self._guard(run)
        self._synchronize()
        return {"trees": [packed_or_described(result, outbox)]}

    def do_warm(self, message: dict) -> dict:
        """Warm and host time per call on slot 0."""
        subject, timer = self._need_subject(), self._need_timer()
        call = functools.partial(subject.call, *self.slots[0])
        times = self._guard(lambda: timer.time_warm(call, message["seconds"]))
        return asdict(times)

    def do_timer(self, message: dict) -> dict:
        """A GPU's timer, and what it adds to a kernel: the same for all sides, so that no comparison is of two guesses."""
        self._need_timer().bubble_s = message["bubble_s"]
        return {}

    def do_memory(self, message: dict) -> dict:
        """Peak memory of one call beyond what was resident."""
        from popcorn.measure.memory import measure_memory

        self.kept = []
        gc.collect()
        subject, slot = self._need_subject(), self.slots[0]
        forward = functools.partial(subject.forward, *slot[0]) if subject.gradient else None
        call = functools.partial(subject.call, *slot)
        return asdict(self._guard(lambda: measure_memory(call, str(self.device), inputs=slot, forward=forward)))

    def do_launches(self, message: dict) -> dict:
        """Device kernels (or dispatched operators) of one call."""
        from popcorn.measure.launches import count_launches

        subject = self._need_subject()
        launches = self._guard(lambda: count_launches(functools.partial(subject.call, *self.slots[0]), str(self.device)))
        return {"launches": launches.model_dump()}

    def do_burst(self, message: dict) -> dict:
        """Calls back to back for about `seconds`; how many."""
        subject = self._need_subject()
        call, count = functools.partial(subject.call, *self.slots[0]), 0
        end = time.perf_counter() + message["seconds"]

        def run() -> None:
            nonlocal count
            while time.perf_counter() < end:
                for _ in range(message["chunk"]):
                    call()
                count += message["chunk"]
                self._synchronize()

        self._guard(run)
        return {"calls": count}

    def _guard(self, act: Callable[[], Any]) -> Any:
        """Candidate code runs only inside: its exceptions become typed failures, those among them that end a program elsewhere (sys.exit, Ctrl-C)."""
        try:
            return act()
        except BaseException as error:
            raise failure_of(error, str(self.file.path) if self.file else "") from error

    def _read(self, slot: tuple[list[Any], list[torch.Tensor]]) -> Any:
        """Inputs read once and a result of an earlier call: what a batch costs beside its calls."""
        for tensor in tensors_of(list(slot)):
            tensor.detach().sum()
        return self.kept[0]

    def _slots(self, message: dict, private: bool) -> list[tuple[list[Any], list[torch.Tensor]]]:
        inbox = self._attach(message["inbox"], writable=False)
        if "stack" in message:
            return slots_of(unpack(message["stack"], inbox, private=False))
        slots = []
        for entry in message["sets"]:
            inputs = unpack(entry["inputs"], inbox, private=False)
            inputs = private_copy(inputs) if private else inputs
            for tensor, wanted in zip(tensors_of(inputs), entry["differentiable"], strict=True):
                tensor.requires_grad_(wanted)
            slots.append((inputs, tensors_of(unpack(entry["cotangents"], inbox))))
        return slots

    def _attach(self, address: dict, writable: bool) -> Buffer:
        key = address.get("path") or address["handle"]
        if key not in self._buffers:
            self._buffers[key] = attach(address, self.device, writable)
        return self._buffers[key]

    def _changed_flags(self) -> dict[str, list[Any]]:
        """torch's settings that are not what they were before the candidate was imported: name → [before, now]."""
        now = snapshot()
        return {name: [before, now[name]] for name, before in self._flags.items() if now[name] != before}

    def _need_subject(self) -> Subject:
        if self.subject is None:
            raise Failed("harness_error", "a command came before `construct`")
        return self.subject

    def _need_timer(self) -> Any:
        if self._timer is None:
            self._timer = make_timer(str(self.device), self.cache_bytes)
        return self._timer

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _poison(self, byte: int) -> None:
        """Fresh memory holds garbage of our choosing, so that reading it unwritten shows."""
        _libc.mallopt(_M_PERTURB, byte)
        if self.device.type == "cuda":
            free = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
            blocks = []
            for size in (1 << 20, 1 << 24, max(1 << 25, min(free, 1 << 32))):
                blocks.append(torch.full((size // 4,), float("nan") if byte & 0x80 else 3e38, device=self.device))
            del blocks


def _compiled(model_class: type) -> Callable[..., Any]:
    """The reference under torch.compile, as its users would get it."""

    def construct(*args: Any) -> Any:
        model = model_class(*args)
        torch.nn.Module.compile(model)  # torch.compile(model), but its parameters keep their names, and so do their gradients
        return model

    return construct
