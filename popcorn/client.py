"""The service's client: a reward in one call, and an Engine over the wire. Needs httpx; imports no torch.

client = Client("http://127.0.0.1:8600", token)
reward = client.evaluate("original/L1/36", source, language="cuda")     # a float: the speedup, 0 when it is not correct
reward.bounded, reward.outcome, reward.low
"""

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from popcorn.errors import BadService, MissingTool
from popcorn.schema.record import Lane, Record
from popcorn.worker.building import Built
from popcorn.worker.request import Request

WAIT_S = 30.0
TRIES = 8


class Reward(float):
    """The plain speedup, as a number; the rest of the answer beside it."""

    bounded: float
    """max(0, 1 − 1.05/speedup)."""
    outcome: str
    reason: str | None
    speedup: float | None
    low: float | None
    high: float | None
    record: str
    """Id of the record."""
    official: bool

    @classmethod
    def of(cls, result: dict[str, Any]) -> "Reward":
        """From an answer of the service."""
        made = cls(result["reward"])
        made.bounded = result["reward_bounded"]
        for name in ("outcome", "reason", "speedup", "low", "high", "record", "official"):
            setattr(made, name, result[name])
        return made


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
        """Judge and wait. Lost connections and 429 or 503 are asked again: the same question is never evaluated twice. Raises BadService."""
        return Reward.of(self._wait(self._submit({"problem": problem, "source": source, **options}), timeout_s)["result"])

    def evaluate_all(self, questions: list[dict[str, Any]], timeout_s: float = 3600) -> list[Reward]:
        """Several at once, in their order."""
        answers = self._ask("POST", "/v1/batches", json={"questions": questions})["evaluations"]
        return [Reward.of(self._wait(one, timeout_s)["result"]) for one in answers]

    def record(self, identity: str) -> Record:
        """A whole record."""
        return Record.model_validate(self._ask("GET", f"/v1/records/{identity}"))

    def statistics(self) -> dict[str, Any]:
        """The service's own figures."""
        return self._ask("GET", "/v1/statistics")

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def _submit(self, question: dict[str, Any]) -> dict[str, Any]:
        return self._ask("POST", "/v1/evaluations", params={"wait_s": WAIT_S}, json=question)

    def _wait(self, answer: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        until = time.monotonic() + timeout_s
        while answer["state"] == "waiting":
            if time.monotonic() > until:
                raise BadService(f"evaluation {answer['id']} did not end within {timeout_s:.0f} s; it goes on, ask for it again.")
            answer = self._ask("GET", f"/v1/evaluations/{answer['id']}", params={"wait_s": WAIT_S})
        if answer["state"] == "failed":
            raise BadService(f"evaluation {answer['id']} failed: {answer['error']}")
        return answer

    def _ask(self, method: str, path: str, **what: Any) -> dict[str, Any]:
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
        return self.client.record(self.client.evaluate(request.problem.id, request.source, **options).record)

    def _build(self, request: Request) -> Built:
        record = self._evaluate(request.model_copy(update={"timing": False}))
        refused = record.verdict if record.verdict.outcome == "compile_error" else None
        return Built(record.build, Lane(), refused)


def _detail(answer: Any) -> str:
    try:
        return str(answer.json().get("detail", ""))[:300]
    except ValueError:
        return str(answer.text)[:300]
