"""The loop: ask the model, answer its calls, until it submits or a budget ends.

Every step looks into the run's journal first (recorder.py), so a run that was killed goes on where it stopped with the same code. Needs Inspect.
"""

import asyncio
import time
from datetime import UTC, datetime

from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.log._samples import sample_active
from inspect_ai.model import ChatMessage, ChatMessageTool, ChatMessageUser, Model, execute_tools, get_model, trim_messages
from inspect_ai.tool import Tool, ToolCallError, ToolChoice, ToolFunction
from inspect_ai.tool import ToolCall as Asked
from inspect_ai.util import LimitExceededError

from popcorn.agents.budget import last_turn, over, warnings
from popcorn.agents.extracting import find_kernel
from popcorn.agents.inspect_tools import current, make_tools
from popcorn.agents.prompts import render
from popcorn.agents.recorder import Recorder
from popcorn.agents.spoken import Said, text_of
from popcorn.agents.tools.answer import Answer
from popcorn.agents.tools.registry import find_tool
from popcorn.schema.run import ToolCall

TRIES = 3
"""Times a broken answer of a provider is asked for again, beyond what Inspect itself retries (429, 5xx, lost connections)."""
_PAUSE_S = 0.5


@agent(name="kernel_writer")
def kernel_writer() -> Agent:
    """Popcorn's own agent: works in the run that the task's setup opened."""

    async def execute(state: AgentState) -> AgentState:
        recorder = current()
        if recorder.ended is None:
            await work(recorder, get_model(), state.messages, make_tools(recorder.tier.tools))
        return state

    return execute


async def work(recorder: Recorder, model: Model, messages: list[ChatMessage], tools: list[Tool]) -> None:
    """Turn after turn; `messages` grows. Ends with recorder.end, whatever happens."""
    ended: str | None = None
    reason: str | None = None
    while (ended := over(recorder.budget, recorder.spent)) is None:
        index, began, last = recorder.spent.turns + 1, time.monotonic(), last_turn(recorder.budget, recorder.spent)
        refusals = _refusals()
        try:
            said = recorder.said(index) or recorder.keep_said(index, await _ask(recorder, model, messages, tools, last))
        except LimitExceededError:
            raise
        except TimeoutError:
            recorder.waited(time.monotonic() - began)
            if _refusals() > refusals:  # its provider's doing: no result of the model's
                await recorder.end("error", "the provider refused (429, 5xx or no connection) until the run's wall clock was over")
                return
            ended, reason = "wall", "the model gave no further answer before the run's wall clock was over"
            break
        except Exception as error:  # the provider's last word, after every retry
            await recorder.end("error", f"{type(error).__name__}: {error}"[:1000])
            return
        if said.note:
            messages.append(ChatMessageUser(content=said.note))
        for _ in range(said.trims):
            messages[:] = await trim_messages(messages)
        messages.append(said.message)
        calls = await _answer(recorder, index, said, messages, tools, last)
        submitted = recorder.workbench.submitted is not None
        recorder.close_turn(index, said, calls, time.monotonic() - began, final=submitted)
        if submitted:
            ended = "submit"
            break
        if not said.message.tool_calls and tools:
            messages.append(ChatMessageUser(content=render("no_call")))
    await recorder.end(ended or "error", reason)


async def _ask(recorder: Recorder, model: Model, messages: list[ChatMessage], tools: list[Tool], last: bool) -> Said:
    """The model's next answer. History is cut when it overflows the window; broken answers are asked for again."""
    note = _note(recorder, bool(tools), last)
    history = [*messages, *([ChatMessageUser(content=note)] if note else [])]
    choice: ToolChoice = ToolFunction("submit_kernel") if last and tools else "auto"
    started, began, tried, trims, retries = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic(), 0, 0, 0
    wall_s = recorder.budget.wall_s
    recorder.observe("asking", recorder)
    async with asyncio.timeout(None if wall_s is None else max(0.0, wall_s - recorder.spent.wall_s)):
        while True:
            try:
                output = await model.generate(history, tools=tools, tool_choice=choice if tools else None)
            except LimitExceededError:
                raise
            except Exception as error:  # a provider's own time-out among them
                retries += 1 + _retries()
                tried += 1
                if tried >= TRIES:
                    raise ConnectionError(f"no usable answer in {TRIES} tries: {type(error).__name__}: {error}") from error
                await asyncio.sleep(_PAUSE_S * tried)
                continue
            retries += _retries()
            if output.stop_reason != "model_length" or trims >= TRIES or len(history) < 4:
                break
            history, trims = await trim_messages(history), trims + 1
    return Said(output, time.monotonic() - began, retries, started, trims, note)


async def _answer(recorder: Recorder, index: int, said: Said, messages: list[ChatMessage], tools: list[Tool], last: bool) -> list[ToolCall]:
    """Answer every call of one turn, in order; a text that holds the kernel is a submission where there are no tools."""
    calls = []
    for position, asked in enumerate(said.message.tool_calls or []):
        refused = _refuse(recorder, asked, said, last, tools)

        async def ask(asked: Asked = asked, refused: Answer | None = refused) -> Answer:
            return refused or await _execute(recorder, said, asked, messages, tools)

        call = await recorder.call(index, position, asked.function, asked.arguments, ask)
        calls.append(call)
        error = ToolCallError("unknown", call.result) if call.error else None
        messages.append(ChatMessageTool(content=call.result, tool_call_id=asked.id, function=asked.function, error=error))
    if not calls and (not tools or last):
        kernel = find_kernel(text_of(said.message) or "", recorder.workbench.language)
        if kernel is not None and (not tools or recorder.workbench.best is None):

            async def submit() -> Answer:
                answer = await recorder.workbench.use(find_tool("submit_kernel"), kernel)
                return answer.model_copy(update={"data": {**answer.data, "taken_from": "text"}})

            calls.append(await recorder.call(index, 0, "submit_kernel", {"kernel_code": kernel}, submit))
    return calls


async def _execute(recorder: Recorder, said: Said, asked: Asked, messages: list[ChatMessage], tools: list[Tool]) -> Answer:
    """One call through Inspect, which checks the arguments and keeps the event; its refusals are answers, too."""
    recorder.answer = None
    alone = said.message.model_copy(update={"tool_calls": [asked], "id": None})
    result = await execute_tools([*messages, alone], tools, max_output=0)
    message = next((one for one in result.messages if isinstance(one, ChatMessageTool)), None)
    if recorder.answer is not None:
        return recorder.answer
    text = (message.error.message if message is not None and message.error else message.text if message is not None else "") or "no answer"
    known = asked.function in recorder.tier.tools
    return Answer(text=text[:2000], ok=False, error="parsing" if known else "unknown_tool")


def _refuse(recorder: Recorder, asked: Asked, said: Said, last: bool, tools: list[Tool]) -> Answer | None:
    """Calls that are not run, each with its reason."""
    if recorder.workbench.submitted is not None:
        return Answer(text="not run: the kernel was submitted, and the run is over.", ok=False, error="limit")
    if asked.id in said.oversize:
        text = f"not run: an argument has {said.oversize[asked.id]:,} bytes; a kernel's source has some kilobytes."
        return Answer(text=text, ok=False, error="limit")
    if recorder.budget.tool_calls <= recorder.spent.tool_calls:
        return Answer(text=f"not run: the {recorder.budget.tool_calls} tool calls of this run are used up.", ok=False, error="limit")
    if last and asked.function != "submit_kernel":
        return Answer(text="not run: this is the last turn, and only submit_kernel is answered.", ok=False, error="limit")
    return None


def _note(recorder: Recorder, with_tools: bool, last: bool) -> str | None:
    if recorder.spent.turns == 0 or not with_tools:
        return None
    if last:
        return render("last_turn", tools=with_tools)
    near = warnings(recorder.budget, recorder.spent)
    return render("near_end", warnings=near) if near else None


def _refusals() -> int:
    """Requests of this sample that its provider refused so far, as Inspect counts them while it tries again."""
    active = sample_active()
    return active.http_retries if active is not None else 0


def _retries() -> int:
    """HTTP retries of the latest call, as Inspect counted them."""
    for event in reversed(transcript().history.recent_events(16)):
        if isinstance(event, ModelEvent):
            return event.retries or 0
    return 0
