"""An engine that judges by a word in the text: for the loop and its budgets, where a real evaluation adds nothing but seconds."""

import hashlib
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from popcorn.agents.models import Price, Row
from popcorn.agents.place import Place
from popcorn.agents.recorder import Recorder
from popcorn.agents.workbench import Settings
from popcorn.schema.measurement import Interval, Measurement
from popcorn.schema.record import Build, Lane, Record
from popcorn.worker.building import Built
from popcorn.worker.request import Request
from tests.made_records import make_measurement, make_record, make_timing, make_verdict

RIGHT = '#include "popcorn_kernel.h"\nint popcorn_forward(void) { return 0; } /* right SPEED */\n'
WRONG = '#include "popcorn_kernel.h"\nint popcorn_forward(void) { return 0; } /* wrong */\n'


def right(speed: float) -> str:
    """A kernel that this engine finds correct, and so fast."""
    return RIGHT.replace("SPEED", str(speed))


class WordEngine:
    """`right SPEED` in the text is correct and that fast, `broken` does not compile, `fault` is a fault of ours; anything else is wrong."""

    def __init__(self, seconds: float = 0.0, queued: bool = False):
        self.seconds, self.queued = seconds, queued
        self.requests: list[Request] = []
        self._pool = ThreadPoolExecutor(16)
        self._device = threading.Lock()

    def submit(self, request: Request) -> "Future[Record]":
        self.requests.append(request)
        return self._pool.submit(self._judge, request)

    def build(self, request: Request) -> "Future[Built]":
        refused = make_verdict("compile_error") if "broken" in request.source else None
        return self._pool.submit(lambda: Built(Build(build_s=0.1), Lane(queue_s=0.0, run_s=0.1), refused))

    def close(self) -> None:
        self._pool.shutdown()

    def _judge(self, request: Request) -> Record:
        with self._device:
            time.sleep(self.seconds)
        if "fault" in request.source:
            raise RuntimeError("the disk is full")
        found = "right" in request.source
        outcome = "correct" if found else "compile_error" if "broken" in request.source else "wrong_values"
        identity = hashlib.sha256(f"{request.source}/{request.timing}/{request.budget_s}".encode()).hexdigest()[:16]
        measured = Measurement()
        if found and request.timing:
            speed = float(request.source.split("right ")[1].split()[0])
            measured = make_measurement(make_timing(speedup=Interval(value=speed, low=speed, high=speed)))
        made = make_record(outcome, id=identity, measurement=measured)
        if self.queued:  # the seconds were somebody else's on the device
            waited = made.provenance.model_copy(update={"device_lane": Lane(queue_s=self.seconds, run_s=0.0)})
            made = made.model_copy(update={"provenance": waited})
        return made


def place_with(engine: WordEngine | None = None) -> Place:
    """A CPU place around it."""
    return Place(engine or WordEngine(), "cpu")


def row_of(url: str) -> Row:
    """A model at a test server, a dollar a thousand tokens of any kind."""
    return Row(name="served", provider="openai-api/served/model", endpoint=url, price=Price(input=1000, cached=100, output=1000), retries=5)


SETTINGS = Settings(language="c", budget_s=0.2)


class Notes:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, what: str, recorder: Recorder) -> None:
        self.seen.append(what)
