"""The app: submit, poll, stream, batch, records, statistics. Every refusal has a status and one sentence."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.security import HTTPBearer

from popcorn import __version__
from popcorn.errors import BadRecord
from popcorn.records.store import Store
from popcorn.schema.record import Record
from popcorn.service.asked import Batch, Evaluation, Evaluations, Identity, Question, Refusal, Statistics
from popcorn.service.jobs import Full, Job, Jobs

WAIT_S = 60.0
REFUSED: dict[int | str, dict[str, Any]] = {
    code: {"model": Refusal, "description": text}
    for code, text in (
        (400, "not JSON"),
        (401, "no token"),
        (404, "not here"),
        (405, "another method"),
        (422, "a field that is missing, unknown or out of its range"),
        (413, "too long"),
        (429, "too often"),
        (503, "too much waits"),
    )
}


def make_app(jobs: Jobs, stores: list[Store]) -> FastAPI:
    """The app over these jobs; `stores` are where records are looked up. Put Limits around it before anybody can reach it."""
    app = FastAPI(
        title="Popcorn", version=__version__, responses=REFUSED, redoc_url=None, description="Is this kernel right, and how good is it, on this machine?",
    )  # fmt: skip
    app.add_exception_handler(RequestValidationError, _refuse_fields)
    token = Security(HTTPBearer(auto_error=False, description="The token that `popcorn serve` was started with."))

    def take(question: Question) -> Job:
        try:
            return jobs.submit(question)
        except KeyError:
            raise HTTPException(404, f"there is no problem {question.problem}") from None
        except Full:
            raise HTTPException(503, "too much waits already; ask again later", {"retry-after": "10"}) from None

    def known(identity: str) -> Job:
        job = jobs.find(identity)
        if job is None:
            raise HTTPException(404, f"there is no evaluation {identity}")
        return job

    wait = Annotated[float, Query(ge=0, le=WAIT_S, allow_inf_nan=False, description="Seconds to wait for the end before answering.")]

    @app.post("/v1/evaluations", status_code=202, dependencies=[token], response_model=Evaluation, responses={200: {"model": Evaluation, "description": "it has ended"}})  # fmt: skip
    async def submit(question: Question, response: Response, wait_s: wait = 0.0) -> Evaluation:
        """Ask. The same question is the same evaluation."""
        job = await asyncio.to_thread(take, question)
        answer = await jobs.wait(job, wait_s)
        response.status_code = 202 if answer.state == "waiting" else 200
        return answer

    @app.post("/v1/batches", status_code=202, dependencies=[token], response_model=Evaluations)
    async def batch(asked: Batch) -> Evaluations:
        """Ask several at once; poll each."""
        return Evaluations(evaluations=[(await asyncio.to_thread(take, question)).now() for question in asked.questions])

    @app.get("/v1/evaluations/{identity}", dependencies=[token], response_model=Evaluation)
    async def poll(identity: Identity, wait_s: wait = 0.0) -> Evaluation:
        """As it stands, or when it ended."""
        return await jobs.wait(known(identity), wait_s)

    @app.get("/v1/evaluations/{identity}/events", dependencies=[token], response_class=StreamingResponse,
             responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "one event a change"}})  # fmt: skip
    async def stream(identity: Identity) -> StreamingResponse:
        """Server-sent events: as it stands now, and when it ended."""
        job = known(identity)

        async def events() -> AsyncIterator[str]:
            yield f"data: {job.now().model_dump_json()}\n\n"
            while not job.ended.is_set():
                answer = await jobs.wait(job, 10.0)
                yield f"data: {answer.model_dump_json()}\n\n" if answer.state != "waiting" else ": waiting\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    @app.get("/v1/records/{identity}", dependencies=[token], response_model=Record)
    async def record(identity: Identity) -> Record:
        """A whole record."""
        for store in stores:
            try:
                return await asyncio.to_thread(store.get, identity)
            except BadRecord:
                continue
        raise HTTPException(404, f"there is no record {identity}")

    @app.get("/v1/statistics", dependencies=[token], response_model=Statistics)
    async def statistics() -> Statistics:
        """Evaluations per hour per device, cache-hit rate."""
        return jobs.statistics()

    @app.get("/healthz", response_model=dict[str, str])
    async def health() -> dict[str, str]:
        """Alive."""
        return {"status": "ok", "version": __version__}

    return app


async def _refuse_fields(_: Any, error: Any) -> JSONResponse:
    """One sentence for the first three fields that are wrong; nothing of what was sent comes back."""
    told = [f"{'.'.join(str(part) for part in one['loc'][1:]) or 'the body'}: {one['msg']}" for one in error.errors()[:3]]
    # names of fields are the asker's own, and may hold halves of characters, which no answer can
    return JSONResponse({"detail": "; ".join(told)[:500].encode("utf-8", "replace").decode()}, 422)
