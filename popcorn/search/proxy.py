"""The proxy: OpenAI's chat protocol in front of searches. A request with a problem runs a search and is answered by one submit_kernel call.

So a sweep lists `evolve/<config>` as a model like any other, and whoever speaks the protocol can ask for an evolved kernel. Candidates are judged by
the same engine and in the same queue as everything else on this device. Progress goes to the search's own folder as it is made, and to the
client as reasoning where it streams. A request that comes again after a crash goes on with its search. For this machine alone: it
listens on 127.0.0.1.
"""

import asyncio
import hashlib
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from popcorn.agents.place import Place
from popcorn.agents.providers.scripted import kernels_for
from popcorn.errors import BadSearch, PopcornError
from popcorn.home import cache_folder
from popcorn.reading import read_toml, what_is_wrong
from popcorn.search.finding import Finding
from popcorn.search.judging import Effort
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Program
from popcorn.search.progress import Progress
from popcorn.search.starting import Asked, language_of, start
from popcorn.suites.jitter import Size
from popcorn.suites.problems import Problem, find_problem, hash_source, list_problems, statement
from popcorn.units import show_ratio

PREFIX = "evolve/"
DEFAULTS: dict[str, dict[str, Any]] = {
    "steady": {"evaluations": 20, "strategy": "map_elites"},
    "greedy": {"evaluations": 20, "strategy": "greedy"},
    "again": {"evaluations": 20, "strategy": "best_of_n"},
}
"""Configs that ship: scripted mutators from the kernels of scripted/steady. One of your own: a TOML table a name."""
_BLOCK = re.compile(r"```python\s*\n(.*?)```", re.DOTALL)
_ID = re.compile(r"^Problem: ((?:popcorn|original)/L\d+/\d+)\b", re.MULTILINE)
_LANGUAGE = re.compile(r"^Language: (\w+)", re.MULTILINE)
Runner = Callable[[Asked, Callable[[Progress, Program | None], None]], tuple[Finding, str]]


def read_configs(path: Path | None) -> dict[str, dict[str, Any]]:
    """Config name → fields of a plan, and `proposer`, `budget_s`. Raises BadSearch for a field that no plan has."""
    if path is None:
        return DEFAULTS
    found = read_toml(
        path, lambda why: BadSearch(f"{path} cannot be read: {why}; expected a table of a plan's fields for each model name.")
    )
    for name, fields in found.items():
        plan_of(name, fields, "problem", "c", ())
    return {**DEFAULTS, **found}


def plan_of(name: str, fields: Mapping[str, Any], problem: str, language: str, seeds: tuple[str, ...]) -> SearchPlan:
    """The plan of a config. Raises BadSearch."""
    own = {key: value for key, value in fields.items() if key not in ("proposer", "budget_s")}
    try:
        return SearchPlan(**{"seeds": seeds, "language": language, **own, "problem": problem})
    except (ValidationError, TypeError) as error:
        raise BadSearch(f"evolve/{name}: {what_is_wrong(error, SearchPlan) if isinstance(error, ValidationError) else error}.") from None


def problem_in(messages: list[dict[str, Any]], size: Size) -> Problem:
    """The problem of a conversation: by the id that our own prompts name where its text is the shown one, else the last Python block.

    Raises BadSearch where there is neither.
    """
    text = "\n".join(_text(one) for one in messages if one.get("role") in ("user", "system"))
    blocks = _BLOCK.findall(text)
    named = _ID.search(text)
    if named:
        return find_problem(named[1])
    if not blocks:
        raise BadSearch(
            "the request holds no problem: expected a reference in a ```python block, with Model, get_inputs and get_init_inputs."
        )
    source = blocks[-1].strip() + "\n"
    for one in list_problems():
        if hash_source(statement(one, size)) == hash_source(source):
            return one
    folder = cache_folder() / "searches" / "problems"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"problem_{hashlib.sha256(source.encode()).hexdigest()[:16]}.py"
    path.write_text(source, encoding="utf-8")
    return find_problem(str(path))


def asked_of(body: Mapping[str, Any], configs: Mapping[str, Mapping[str, Any]], place: Place) -> Asked:
    """The search that a request means. `max_programs` and `precision` may stand beside the messages. Raises BadSearch, PopcornError."""
    name = str(body.get("model", "")).removeprefix(PREFIX)
    if name not in configs:
        raise BadSearch(f"there is no model {PREFIX}{name[:60]}; there are {', '.join(PREFIX + one for one in configs)}.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise BadSearch("`messages` is no list of messages.")
    problem = problem_in(messages, place.size())
    found = _LANGUAGE.search("\n".join(_text(one) for one in messages))
    fields = dict(configs[name])
    language = str(fields.get("language") or (found[1] if found else language_of("auto", place)))
    most = body.get("max_programs")
    if isinstance(most, int) and not isinstance(most, bool):
        fields["evaluations"] = max(1, min(most, 1000))
    if isinstance(body.get("precision"), str):
        fields["precision"] = body["precision"]
    seeds = tuple(kernels_for(problem.id, language)[:1])
    plan = plan_of(name, fields, problem.id, language, seeds)
    return Asked(problem, plan, str(fields.get("proposer", "mutate")), effort=Effort(budget_s=float(fields.get("budget_s", 1.0))))


def make_app(place: Place, configs: Mapping[str, Mapping[str, Any]], at_once: int = 2, runner: Runner | None = None) -> Any:
    """The server's application. `runner` takes the place of `start`, in tests."""
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse, StreamingResponse

    globals()["Request"] = Request  # FastAPI reads annotations by name
    app = FastAPI(title="popcorn search", docs_url=None, redoc_url=None, openapi_url=None)
    turns = asyncio.Semaphore(at_once)
    run: Runner = runner or (lambda asked, tell: start(asked, place, tell=tell))

    @app.middleware("http")
    async def refuse_pages(request: Request, call_next: Callable[[Request], Any]) -> Any:
        """A page in this machine's browser must not reach it: a problem in a request is run."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not _is_loopback(f"//{host}") or (origin is not None and not _is_loopback(origin)):
            return JSONResponse({"error": {"message": "only programs of this machine may ask: http://127.0.0.1", "type": "forbidden"}}, 403)
        if request.method == "POST" and request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return JSONResponse({"error": {"message": "expected Content-Type: application/json", "type": "invalid_request_error"}}, 415)
        return await call_next(request)

    @app.get("/v1/models")
    def list_models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": PREFIX + name, "object": "model", "owned_by": "popcorn"} for name in configs]}

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Any:
        try:
            body = await request.json()
            asked = asked_of(body if isinstance(body, dict) else {}, configs, place)
        except (PopcornError, ValueError) as error:
            return JSONResponse({"error": {"message": str(error)[:2000], "type": "invalid_request_error"}}, 400)
        if body.get("stream"):
            return StreamingResponse(_stream(asked, body, run, turns), media_type="text/event-stream")
        try:
            async with turns:
                finding, identity = await asyncio.to_thread(run, asked, lambda *_: None)
        except PopcornError as error:
            return JSONResponse({"error": {"message": str(error)[:2000], "type": "invalid_request_error"}}, 400)
        return completion(body, finding, identity)

    return app


def _is_loopback(url: str) -> bool:
    try:
        return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    except ValueError:
        return False


def completion(body: Mapping[str, Any], finding: Finding, identity: str) -> dict[str, Any]:
    """One answer: a submit_kernel call with the winner; as a fenced block where the client offers no such tool."""
    message = answer(body, finding, identity)
    used = sum(one.proposal.tokens or 0 for one in finding.progress.history)
    return {
        "id": f"chatcmpl-{identity}", "object": "chat.completion", "created": 0, "model": str(body.get("model")),
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}],
        "usage": {"prompt_tokens": used, "completion_tokens": 0, "total_tokens": used},
        "popcorn": {"search": identity, "evaluations": finding.evaluations, "speedup": finding.speedup, "coverage": finding.coverage},
    }  # fmt: skip


def answer(body: Mapping[str, Any], finding: Finding, identity: str) -> dict[str, Any]:
    """The assistant's message."""
    best = finding.best or next((one for one in reversed(finding.progress.history) if one.source), None)
    said = f"search {identity}: {finding.evaluations} evaluations, best {show_ratio(finding.speedup)}"
    if best is None:
        return {"role": "assistant", "content": f"{said}; no kernel was made"}
    tools = {tool.get("function", {}).get("name") for tool in body.get("tools") or [] if isinstance(tool, dict)}
    if "submit_kernel" not in tools:
        return {"role": "assistant", "content": f"{said}\n\n```\n{best.source}\n```"}
    call = {"name": "submit_kernel", "arguments": json.dumps({"kernel_code": best.source})}
    return {
        "role": "assistant",
        "content": said,
        "tool_calls": [{"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": call}],
    }


async def _stream(asked: Asked, body: Mapping[str, Any], run: Runner, turns: asyncio.Semaphore) -> AsyncIterator[str]:
    """Server-sent events: a line of reasoning for each program, then the answer."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def tell(progress: Progress, program: Program | None) -> None:
        if program is not None:
            best = progress.population.best
            said = f"{progress.finished}/{progress.plan.evaluations} {program.id} {program.outcome}" + (f", best {best.id}" if best else "")
            loop.call_soon_threadsafe(lines.put_nowait, said + "\n")

    async def work() -> tuple[Finding, str]:
        try:
            async with turns:
                return await asyncio.to_thread(run, asked, tell)
        finally:
            lines.put_nowait(None)

    task = asyncio.create_task(work())
    while (line := await lines.get()) is not None:
        yield _event(body, {"reasoning_content": line})
    try:
        finding, identity = await task
    except PopcornError as error:
        yield f"data: {json.dumps({'error': {'message': str(error)[:2000]}})}\n\n"
        return
    message = answer(body, finding, identity)
    for index, call in enumerate(message.get("tool_calls", [])):
        call["index"] = index
    yield _event(body, message)
    yield _event(body, {}, "tool_calls" if "tool_calls" in message else "stop")
    yield "data: [DONE]\n\n"


def _event(body: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None = None) -> str:
    chunk = {"id": "chatcmpl-search", "object": "chat.completion.chunk", "created": 0, "model": str(body.get("model")),
             "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}]}  # fmt: skip
    return f"data: {json.dumps(chunk)}\n\n"


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
