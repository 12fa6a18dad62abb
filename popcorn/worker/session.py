"""Session: one evaluation's conversation with its oracle and its sides. evaluate.py tells the story; the steps are here and in judging.py and
comparing.py beside it."""

import contextlib
import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popcorn.errors import BadCandidate, HarnessFailure
from popcorn.ops.compiled import NAME as INDUCTOR
from popcorn.schema.record import Build
from popcorn.schema.verdict import Outcome
from popcorn.suites.jitter import Size
from popcorn.suites.problems import facts
from popcorn.toolchain.build import build
from popcorn.toolchain.inline_build import answer, build_inline
from popcorn.toolchain.languages import is_python
from popcorn.toolchain.result import BuildResult
from popcorn.verify.defences.registry import look
from popcorn.worker.bench import Bench
from popcorn.worker.between import Between
from popcorn.worker.census import tree_of
from popcorn.worker.gate import refused, refused_build
from popcorn.worker.learning import COMPILING, learnable
from popcorn.worker.nursery import Child, ChildDied, DeadlinePassed, MemoryPassed
from popcorn.worker.profiled import Profile
from popcorn.worker.ranks import world_of
from popcorn.worker.refused import Refused
from popcorn.worker.request import Request
from popcorn.worker.seeds import commit, derive, draw_secret
from popcorn.worker.tidying import remove_tree

Stage = str
_MAY_BUILD = ("construct", "run", "first")
"""Commands beside the import in which a candidate may ask for a build: some build in their constructor or at their first call. Nothing of it is timed."""
_MOST_BUILDS = 1000
"""Builds of one candidate that a record tells of."""


class Session:
    """Holds the processes of one evaluation and asks them; every failure becomes Refused (the candidate's) or HarnessFailure (ours)."""

    def __init__(self, bench: Bench, request: Request, problem_hash: str, candidate_hash: str, progress: Callable[[str], None]):
        self.bench = bench
        self.request = request
        self.candidate_hash = candidate_hash
        self.progress = progress
        # read from the text, so that a record has its case even where nothing could be built
        self.size: Size = "full" if bench.cuda else "cpu"
        self.nominal = {name: int(dim.at(self.size)) for name, dim in facts(request.problem).dims.items()}
        if facts(request.problem).ranks is not None:
            self.nominal["WORLD"] = world_of(request.problem, request.world, bench.cuda)
        self.secret = request.seed or draw_secret()
        # a repeated seed makes the same inputs: what the candidate kept of them in its caches must not be there
        self.private = candidate_hash + (secrets.token_hex(8) if request.seed else "")
        self.commitment = commit(self.secret)
        self._folders: list[Path] = []
        self.shared = self.new_folder("shared")
        for name in ("in", "out"):
            (self.shared / name).mkdir(mode=0o700)
        self.gradient = request.gradient == "grad"
        self.copies = True
        """Whether weights of the reference's names get its values; False once a candidate was right only with those that it made itself."""
        self.built: BuildResult | None = None
        self.builds: list[Build] = []
        self.building_s = 0.0
        """Seconds that its load_inline calls have taken so far, all processes of this evaluation together."""
        self.answers: dict[str, Any] = {}
        self.passed: dict[str, None] = {}
        self.remarks: dict[str, None] = {}
        self.opened: dict[str, Any] = {}
        self.between = Between()
        # the whole problem: an op has one hash in all its cases, and another text in each
        self.same = (request.problem.model_dump_json(), self.size, json.dumps(request.scalars, sort_keys=True, default=str))
        self._trusted: dict[Child, str] = {}
        """Roles of those that the next evaluation may use."""
        self._served: set[Child] = set()
        """Those that served another one before."""
        self._children: list[Child] = []
        self.oracle: Child | None = None
        self.candidate: Child | None = None
        self.profile: Profile | None = None

    # -- building ------------------------------------------------------------------------------------------------------------------

    def build(self) -> Build:
        """The build lane's work: compile a native text, or import a Python one in a fresh child so that its own builds happen now."""
        request = self.request
        self.bench.learn(*learnable(request.problem.source))
        if request.implementation is not None:
            self.built = BuildResult(language=request.language, kind="python")
            self.candidate = self.start_candidate(stage="build")
            return Build()
        found = refused(request.source, self._is_python()) if request.static_gate else None
        if found is not None:
            raise Refused("rejected", found, "build", rule="static")
        arch = self.bench.machine.compute_capability
        kind = "cuda" if self.bench.cuda else "cpu"
        self.built = build(request.source, request.language, request.name, self.bench.builds, kind, arch, request.build_timeout_s)
        if not self.built.ok:
            raise Refused(self.built.failure or "compile_error", self.built.reason or "the build failed", "build")
        self.candidate = self.start_candidate(stage="build")
        return self.build_record()

    def build_record(self) -> Build:
        """One record of all builds of this candidate: a native library, or what its module built at import."""
        if self.built is None:  # refused before
            return Build()
        if not self.builds:
            return self.built.record()
        last = self.builds[-1]
        return last.model_copy(
            update={
                "build_s": sum(b.build_s or 0.0 for b in self.builds),
                "cached": all(b.cached for b in self.builds),
                "diagnostics": tuple(d for b in self.builds for d in b.diagnostics)[:50],
            }
        )

    def start_candidate(self, stage: Stage) -> Child:
        """A fresh child with the candidate's text imported, inside the sandbox."""
        assert self.built is not None
        if self.request.implementation is not None:
            return self._start_implementation(stage)
        folder = self.new_folder("candidate")
        if self._is_python():
            path = folder / "candidate.py"
            path.write_text(self.request.source, encoding="utf-8")
        else:
            path = folder / Path(self.request.name).name
        memory = int(0.75 * (self.bench.machine.memory_bytes or 8 << 30))
        child = self._register(self.bench.start("candidate", folder, self.shared, self.private, None if self.bench.cuda else memory))
        if self.bench.cuda:
            child.limit_memory(memory)
        self.passed.update(dict.fromkeys(("own_process", "hidden_seeds", "resting", "turns", "parent_record", "limits", "typed_outcomes")))
        self.passed.update({} if child.missing else {"sandbox": None})
        self.remarks.update(dict.fromkeys(child.missing))
        message = {
            "do": "import",
            "path": str(path),
            "language": self.request.language,
            "library": str(self.built.path) if self.built.path else None,
        }
        timeout = self.request.build_timeout_s if stage == "build" else self.request.timeout_s
        imported = self.ask_candidate(child, message, stage, timeout, self._serve_build)
        if stage == "build":
            self._note_run_time_builds(imported.get("built_here"))
        return child

    def _start_implementation(self, stage: Stage) -> Child:
        """A fresh child with an implementation of the library. It may build; what it does wrong is its own all the same."""
        request = self.request
        if request.implementation == INDUCTOR:
            self.bench.learn(COMPILING)
        child = self._register(self.bench.start("implementation", self.new_folder("implementation"), self.shared, self.candidate_hash))
        message = {
            "do": "import", "problem": request.problem.model_dump(), "size": self.size,
            "implementation": {
                "op": request.problem.id, "file": request.op_file, "name": request.implementation, "scalars": request.scalars,
            },
        }  # fmt: skip
        self.ask_candidate(child, message, stage, request.build_timeout_s if stage == "build" else request.timeout_s)
        return child

    def start_reference(self, compile: bool = False, fresh: bool = False) -> Child:
        """A child with the reference loaded, which this evaluation has not met: kept from the last evaluation of this problem, or `fresh`."""
        if compile:
            self.bench.learn(COMPILING)
        child, is_new = self.start_trusted("reference", may_be_kept=not compile, fresh=fresh)
        if is_new:
            self.ask(child, {"do": "import", "problem": self.request.problem.model_dump(), "size": self.size, "compile": compile})
        return child

    def start_trusted(self, role: str, may_be_kept: bool = True, fresh: bool = False) -> tuple[Child, bool]:
        """A child that no candidate was ever in, and whether it is new."""
        kept = self.bench.kept[role].take(self.same, self._trusted) if may_be_kept and not fresh else None
        if kept is not None:
            self._trusted[kept] = role
            self._served.add(kept)
            return self._register(kept), False
        may_be_kept = may_be_kept and self.bench.keeps
        # who may be kept outlives this evaluation's folders
        folder = self.bench.new_folder(role) if may_be_kept else self.new_folder(role)
        child = self._register(self.bench.start(role, folder, self.shared))
        if may_be_kept:
            self._trusted[child] = role
        return child, True

    def _is_python(self) -> bool:
        return self.request.language != "c" and is_python(self.request.name, self.request.source)

    def _serve_build(self, request: dict[str, Any]) -> dict[str, Any]:
        """A load_inline call of the candidate: compiled here, in the parent, where the cache may be written."""
        self.progress(f"building {str(request.get('name', ''))[:40]}")
        machine = self.bench.machine
        plain = {name: value for name, value in request.items() if name != "request"}
        try:
            found = refused_build(plain) if self.request.static_gate else None
            if found is not None:
                raise BadCandidate(found)
            left_s = self.request.build_timeout_s - self.building_s
            if left_s <= 0:
                raise BadCandidate(f"its builds together took {self.building_s:.0f} s, and {self.request.build_timeout_s:g} s are allowed")
            began = time.monotonic()
            try:
                result = build_inline(plain, self.bench.builds, machine.compute_capability, left_s)
            finally:
                self.building_s += time.monotonic() - began
            record, told = result.record(), answer(result)
        except Exception as error:  # whatever a request provokes in our driver of compilers is the request's doing
            reason = f"the build could not be made: {type(error).__name__}: {error}"[:500]
            record, told = Build(reason=reason), {"error": reason, "diagnostics": []}
        if len(self.builds) < _MOST_BUILDS:
            self.builds.append(record)
        self.answers[json.dumps(plain, sort_keys=True)] = told
        return told

    def _note_run_time_builds(self, notes: Any) -> None:
        """What NVRTC compiled inside the candidate's process at import; its word, kept for the record only."""
        for note in notes if isinstance(notes, list) else []:
            seconds = note.get("seconds") if isinstance(note, dict) else None
            if type(seconds) is float and 0 <= seconds < 1e5:
                self.builds.append(Build(build_s=seconds, cached=note.get("cached") is True, key=str(note.get("key"))[:64], tier="nvrtc"))

    # -- fair play -----------------------------------------------------------------------------------------------------------------

    def check(self, stage: Any, name: str, *facts: Any, find: str = "find", where: str = "") -> None:
        """Ask one defence. Refused with its finding; else its name is among those passed."""
        finding = look(name, *facts, find=find)
        if finding is not None:
            raise Refused(finding.outcome, where + finding.evidence, stage, name)
        self.passed[name] = None

    # -- asking --------------------------------------------------------------------------------------------------------------------

    def ask(self, child: Child, message: dict[str, Any], timeout_s: float = 600.0) -> dict[str, Any]:
        """Ask a trusted child. Its failures are the reference's (Refused) or ours (HarnessFailure)."""
        try:
            reply = child.ask(message, timeout_s)
        except DeadlinePassed as error:
            raise Refused(
                "invalid_reference", f"the reference gave no answer to {message['do']!r} in {error.seconds:g} s", "load"
            ) from None
        except ChildDied as error:
            raise HarnessFailure(f"the reference's process died at {message['do']!r}: {error.describe()}. {error.output[-500:]}") from None
        failed = reply.get("failed")
        if failed is None:
            return reply["ok"]
        if failed["outcome"] in ("invalid_reference", "rejected", "out_of_memory"):
            outcome: Outcome = failed["outcome"]
            reason = failed["reason"] if outcome != "out_of_memory" else f"the reference runs out of memory: {failed['reason']}"
            raise Refused("rejected" if outcome == "rejected" else "invalid_reference", reason, "load")
        raise HarnessFailure(f"{message['do']}: {failed['reason']}\n{failed['details']}")

    def ask_candidate(
        self, child: Child, message: dict[str, Any], stage: Any, timeout_s: float | None = None, serve: Callable | None = None
    ) -> dict[str, Any]:
        """Ask the candidate's child. Whatever happens is the candidate's doing and becomes Refused; an answer of the wrong form too."""
        serve = serve or (self._serve_build if message["do"] in _MAY_BUILD else None)
        try:
            reply = child.ask(message, timeout_s or self.request.timeout_s, serve)
        except MemoryPassed as error:
            raise Refused("out_of_memory", f"at {message['do']!r} {error}", stage) from None
        except DeadlinePassed as error:
            raise Refused("timeout", f"{message['do']!r} did not end within {error.seconds:g} s", stage) from None
        except ChildDied as error:
            said = " ".join(error.output.split())[-300:]
            raise Refused(
                "crash", f"the process ended at {message['do']!r} with {error.describe()}" + (f": {said}" if said else ""), stage
            ) from None
        failed = reply.get("failed")
        if isinstance(failed, dict):
            outcome = failed.get("outcome")
            known = outcome in ("compile_error", "runtime_error", "out_of_memory", "rejected", "wrong_shape")
            # a candidate can claim anything; it can never claim that the fault is ours
            raise Refused(outcome if known else "runtime_error", str(failed.get("reason"))[:2000], stage)  # type: ignore[arg-type]
        ok = reply.get("ok")
        if not isinstance(ok, dict):
            raise Refused("runtime_error", "the candidate's process answered out of form", stage)
        return ok

    def question(self, dims: dict[str, int], *labels: object, distribution: str = "normal", layout: str | None = None) -> dict[str, Any]:
        """Seeds and settings of one input set; the weights' seed depends on the first label alone, so that a launch keeps its weights."""
        return {
            "dims": dims,
            "seed": derive(self.secret, "inputs", *labels),
            "init_seed": derive(self.secret, "weights", labels[0], labels[1] if len(labels) > 1 else ""),
            "forward_seed": derive(self.secret, "forward", *labels),
            "distribution": distribution,
            "layout": layout or self.request.layout,
        }

    def processes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Process ids of this evaluation, with what its processes started, and of those that wait, nobody on the way out or in: what they do on the device disturbs nobody else's measuring; and
        of other evaluations of this bench that are at work now: a build lane's imports, which have a context."""
        self.settle()
        beside = self._at_work()  # twice, as one may have come to rest meanwhile
        own = (*(pid for child in self._children for pid in tree_of(child.pid)), *self.bench.waiting())
        return own, (*beside, *self._at_work())

    def _at_work(self) -> list[int]:
        return [child.pid for child in self.bench.at_work() if child not in self._children]

    def settle(self) -> None:
        """From here on nobody comes or goes."""
        self.between.settle()
        if self.bench.spares is not None:
            self.bench.spares.settle()

    def new_folder(self, name: str) -> Path:
        """A fresh private folder that goes when this evaluation ends: it lies in shared memory."""
        self._folders.append(self.bench.new_folder(name))
        return self._folders[-1]

    def end(self, *children: Child) -> None:
        """End these children now, at once: a GPU's context takes a tenth of a second to go."""
        self.let_go(*children)
        self.between.settle()

    def let_go(self, *children: Child) -> None:
        """End these children while other work goes on; nothing may be timed before `between.settle`."""
        for child in children:
            self._children.remove(child)
            if child in self._trusted:
                self.between.part(lambda child=child: self._keep_or_end(child))  # type: ignore[misc]
            else:
                self.between.let_go(child)

    def _keep_or_end(self, child: Child) -> None:
        """A trusted child's way out."""
        try:
            kept = "ok" in child.ask({"do": "rest"}, 60.0) and self.bench.kept[self._trusted[child]].put(self.same, child)
        except Exception:  # whatever ailed it: it goes
            kept = False
        if not kept:
            self.bench.end_trusted(child)

    def bring(self, candidates: int, references: int) -> None:
        """Start processes of the next launch while other work goes on: as fresh as if they were started when they are needed."""
        for _ in range(candidates):
            self.between.bring("candidate", lambda: self.start_candidate("load"))
        for _ in range(references):
            self.between.bring("reference", self.start_reference)

    def bring_rehearsed(self, references: int) -> None:
        """Have references that have made one call of the nominal sizes before they are needed: on a GPU a first call loads a library of kernels.
        They are trusted, and may come early; a candidate may not."""
        question = self.question(self.nominal, "rehearsal")
        message = {"do": "rehearse", "question": question, "precision": self.request.precision, "gradient": self.gradient}

        def start() -> Child:
            child = self.start_reference()
            if child not in self._served:
                self.ask(child, message)
            return child

        for _ in range(references):
            self.between.bring("reference", start)

    def evict(self, look: bool = False) -> None:
        """On a CPU, cold caches for whoever runs next; after a `look` at how much must be read for that."""
        try:
            self.ask(self.bench.evictor(), {"do": "evict", "look": look})
        except Refused as refused:  # nobody's fault but ours
            raise HarnessFailure(f"the caches could not be emptied: {refused.reason}") from None

    def leave(self) -> None:
        """End every child of this evaluation. In the device lane still: whoever is next there finds nobody on the way out, and those that are kept."""
        for _ in range(2):  # once more for who was on the way in
            with contextlib.suppress(Exception):
                self.end(*self._children)

    def close(self) -> None:
        """End whoever is left and remove this evaluation's files."""
        self.leave()
        self.between.close()
        for folder in self._folders:
            remove_tree(folder)
        self._folders.clear()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _register(self, child: Child) -> Child:
        self._children.append(child)
        return child
