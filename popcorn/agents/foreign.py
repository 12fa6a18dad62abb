"""A run that another package's agent made with our tools, brought into our form. Needs Inspect."""

from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ModelOutput

from popcorn.agents.extracting import find_kernel
from popcorn.agents.recorder import Recorder
from popcorn.agents.spoken import Said, text_of
from popcorn.agents.tools.answer import Answer
from popcorn.agents.tools.registry import find_tool
from popcorn.schema.run import Run, ToolCall


async def adopt(recorder: Recorder, messages: list[ChatMessage]) -> Run:
    """Turns from the conversation, tokens and times from Inspect's events; what nobody submitted is submitted by the harness."""
    events = [event for event in transcript().events if isinstance(event, ModelEvent)]
    asked = list(recorder.asked)
    spoken = [message for message in messages if isinstance(message, ChatMessageAssistant)]
    for index, message in enumerate(spoken, 1):
        event = events[index - 1] if index <= len(events) else None
        output = event.output if event is not None else ModelOutput(model=message.model or "", choices=[])
        if not output.choices:
            output = ModelOutput.from_message(message)
        said = Said(
            output,
            (event.working_time or 0.0) if event else 0.0,
            (event.retries or 0) if event else 0,
            event.timestamp.isoformat() if event else "",
        )
        calls = []
        for call in message.tool_calls or []:
            answer = asked.pop(0)[1] if asked and asked[0][0] == call.function else None
            calls.append(_call(call.function, call.arguments, answer))
        recorder.spent.tool_calls += len(calls)
        recorder.close_turn(index, said, calls, said.llm_s, final=index == len(spoken))
    if recorder.workbench.submitted is None and spoken:
        kernel = find_kernel(text_of(spoken[-1]) or "", recorder.workbench.language)
        if kernel is not None and recorder.workbench.best is None:
            await recorder.workbench.use(find_tool("submit_kernel"), kernel)
    return await recorder.end("submit" if recorder.workbench.submitted is not None else "stopped")


def _call(name: str, arguments: dict[str, object], answer: Answer | None) -> ToolCall:
    if answer is None:
        return ToolCall(tool=name, arguments=arguments, ok=False, error="unknown_tool", result="not one of Popcorn's tools")
    return ToolCall(
        tool=name, arguments=arguments, result=answer.text, data=answer.data, ok=answer.ok, error=answer.error, wall_s=answer.queue_s + answer.run_s,
        queue_s=answer.queue_s, run_s=answer.run_s,
    )  # fmt: skip
