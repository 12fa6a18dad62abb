"""The service's client: a reward in one call, and an Engine over the wire. Needs httpx; imports no torch.

client = Client("http://127.0.0.1:8600", token)
reward = client.evaluate("original/L1/36", source, language="cuda")     # a float: the speedup, 0 when it is not correct
reward.bounded, reward.outcome, reward.low
"""

import json
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from popcorn.errors import BadCandidate, BadService, MissingTool
from popcorn.schema.record import Lane, Record
from popcorn.worker.building import Built
from popcorn.worker.request import Request

WAIT_S = 30.0
MAX_SOURCE, MAX_BATCH, MOST_BYTES = 256_000, 64, 900_000
"""Of a text, in characters; of a batch; of a body: the service's own limits, and a margin."""
TRIES = 8
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")


class Reward(float):
    """The plain speedup, as a number; the rest of the answer beside it."""

    bounded: float
    """max(0, 1 − 1.05/speedup)."""
    outcome: str
    reason: str | None
    speedup: float | None
    low: float | None
    high: float | None
    fit: bool | None
    """Whether the controls of that evaluation passed; where they did not, its speedup claims nothing."""
    record: str | None
    """Id of the record; None for a text that could not be judged at all."""
    official: bool

    @classmethod
    def of(cls, result: dict[str, Any]) -> "Reward":
        """From an answer of the service."""
        made = cls(result["reward"])
        made.bounded = result["reward_bounded"]
        for name in ("outcome", "reason", "speedup", "low", "high", "fit", "record", "official"):
            setattr(made, name, result[name])
        return made


class NotAnswered(BadService):
    """One evaluation that failed or did not end, by no fault of its kernel."""


class Client:
    """One service. Threads may share it."""

    def __init__(self, url: str, token: str | None = None, transport: Any = None):
        try:
            import httpx
        except ImportError:
            raise MissingTool("the service's client needs httpx: pip install 'popcornbench[service]'") from None
        key = token or os.environ.get("POPCORN_SERVICE_TOKEN")
        if not key:
            raise BadService("the service needs its token; give it, or set POPCORN_SERVICE_TOKEN.")
        self._errors = (httpx.TransportError,)
        self._http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=WAIT_S + 30, transport=transport)

    def evaluate(self, problem: str, source: str, timeout_s: float = 3600, **options: Any) -> Reward:
        """Judge and wait at most `timeout_s`. What was lost on the way is asked again: the same question is never evaluated twice. Raises BadService.

        options: fields of the service's Question: language, precision, gradient, budget_s, call_timeout_s, timing, …
        """
        question = _sent({"problem": problem, "source": source, **options})
        until = time.monotonic() + timeout_s
        return self._wait(question, self._ask("POST", "/v1/evaluations", params={"wait_s": min(WAIT_S, timeout_s)}, json=question), until)

    def evaluate_all(self, questions: list[dict[str, Any]], timeout_s: float = 3600) -> list[Reward | None]:
        """Several at once, any number, in their order, within `timeout_s` together. Raises BadService when the service cannot be reached.

        None is a question that was not answered, by no fault of its kernel: the judge failed twice, or the time was over.
        """
        until = time.monotonic() + timeout_s
        answers: list[dict[str, Any]] = []
        questions = [_sent(question) for question in questions]
        for part in _parts(questions):
            answers += self._ask("POST", "/v1/batches", json={"questions": part})["evaluations"]
        return [self._wait_or_none(question, answer, until) for question, answer in zip(questions, answers, strict=True)]

    def record(self, identity: str) -> Record:
        """A whole record."""
        return Record.model_validate(self._ask("GET", f"/v1/records/{identity}"))

    def statistics(self) -> dict[str, Any]:
        """The service's own figures."""
        return self._ask("GET", "/v1/statistics")

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def _wait_or_none(self, question: dict[str, Any], answer: dict[str, Any], until: float) -> Reward | None:
        try:
            return self._wait(question, answer, until)
        except NotAnswered:
            return None

    def _wait(self, question: dict[str, Any], answer: dict[str, Any], until: float) -> Reward:
        """The end of a question. A service that was restarted has forgotten it and is asked again, as is one that failed, once."""
        failed = False
        while answer["state"] != "done":
            if answer["state"] == "failed":
                if failed:
                    raise NotAnswered(f"evaluation {answer['id']} failed: {answer['error']}")
                failed, answer = True, self._ask("POST", "/v1/evaluations", json=question)
            elif time.monotonic() > until:
                raise NotAnswered(f"evaluation {answer['id']} did not end in time; it goes on, ask for it again.")
            else:
                wait_s = max(0.0, min(WAIT_S, until - time.monotonic()))
                found = self._ask("GET", f"/v1/evaluations/{answer['id']}", (404,), params={"wait_s": wait_s})
                answer = found or self._ask("POST", "/v1/evaluations", json=question)
        return Reward.of(answer["result"])

    def _ask(self, method: str, path: str, nothing: tuple[int, ...] = (), **what: Any) -> dict[str, Any]:
        """The answer; empty for a status of `nothing`."""
        last = ""
        for attempt in range(TRIES):
            try:
                answer = self._http.request(method, path, **what)
            except self._errors as error:
                last = f"{type(error).__name__}: {error}"
            else:
                if answer.status_code < 300:
                    found = answer.json()
                    return found if isinstance(found, dict) else {}
                if answer.status_code in nothing:
                    return {}
                last = f"{answer.status_code}: {_detail(answer)}"
                if answer.status_code not in (429, 502, 503, 504):
                    break
            time.sleep(min(10.0, 0.25 * 2**attempt))
        raise BadService(f"the service at {self._http.base_url} did not answer {method} {path}: {last}")


CARRIED = ("language", "precision", "gradient", "layout", "sizes", "track", "budget_s", "trials", "timing", "control")
NOT_CARRIED = ("scalars", "implementation", "op_file", "world", "seed")
"""What would change the answer and does not travel."""


class RemoteEngine:
    """An Engine whose evaluations happen at a service. It carries shipped problems alone; deadlines, baselines and counters are the service's."""

    def __init__(self, client: Client, width: int = 64):
        self.client = client
        self._pool = ThreadPoolExecutor(width, thread_name_prefix="remote")

    def submit(self, request: Request) -> "Future[Record]":
        """The record, fetched whole."""
        return self._pool.submit(self._evaluate, request)

    def build(self, request: Request) -> "Future[Built]":
        """Judged without the clock there: what does not build says so, what does is built for the evaluation that follows."""
        return self._pool.submit(self._build, request)

    def close(self) -> None:
        """What waits is dropped here; the service finishes what it took."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.client.close()

    def _evaluate(self, request: Request) -> Record:
        for name in NOT_CARRIED:
            if getattr(request, name) != Request.model_fields[name].get_default(call_default_factory=True):
                raise BadService(f"the service carries no {name} ({getattr(request, name)!r:.60}); judge it on the machine itself.")
        options = {name: getattr(request, name) for name in CARRIED}
        reward = self.client.evaluate(request.problem.id, request.source, call_timeout_s=request.timeout_s, **options)
        if reward.record is None:
            raise BadCandidate(str(reward.reason))
        return self.client.record(reward.record)

    def _build(self, request: Request) -> Built:
        record = self._evaluate(request.model_copy(update={"timing": False}))
        refused = record.verdict if record.verdict.outcome == "compile_error" else None
        return Built(record.build, Lane(), refused)


def _sent(question: dict[str, Any]) -> dict[str, Any]:
    """A question as it can travel: a text beyond the longest is cut, and rejected as the whole would be; halves of characters and control characters, which
    take six bytes each on their way, are replaced."""
    source = _CONTROLS.sub("?", str(question["source"])[: MAX_SOURCE + 1])
    return {**question, "source": source.encode("utf-8", "replace").decode("utf-8")}


def _parts(questions: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """As many at once as one body may hold."""
    part: list[dict[str, Any]] = []
    size = 0
    for question in questions:
        length = len(json.dumps(question))
        if part and (len(part) == MAX_BATCH or size + length > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(question)
        size += length
    if part:
        yield part


def _detail(answer: Any) -> str:
    try:
        return str(answer.json().get("detail", ""))[:300]
    except ValueError:
        return str(answer.text)[:300]
