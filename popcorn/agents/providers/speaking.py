"""How an offline model reads a conversation and answers it. Needs Inspect."""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from inspect_ai.model import ChatCompletionChoice as Choice
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ContentReasoning, ContentText, ModelOutput, ModelUsage
from inspect_ai.tool import ToolCall

_FACT = re.compile(r"^(Problem|Language|Hardware): (.+)$", re.MULTILINE)
_REFERENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Heard:
    """What an offline model takes from a conversation."""

    problem: str
    language: str
    reference: str
    turn: int
    """Answers that it gave so far."""
    results: tuple[str, ...]
    """Texts of all tool results, in order."""


def listen(messages: list[ChatMessage]) -> Heard:
    """Read the prompt's own lines."""
    prompt = next((message.text for message in messages if message.role == "user"), "")
    facts = dict(_FACT.findall(prompt))
    reference = _REFERENCE.search(prompt)
    return Heard(
        problem=facts.get("Problem", "").partition(" ")[0],
        language=facts.get("Language", ""),
        reference=reference[1] if reference else "",
        turn=sum(isinstance(message, ChatMessageAssistant) for message in messages),
        results=tuple(message.text for message in messages if isinstance(message, ChatMessageTool)),
    )


def speak(model: str, messages: list[ChatMessage], text: str, calls: list[tuple[str, dict[str, Any]]], reasoning: str = "") -> ModelOutput:
    """An answer with usage counted as a quarter of the characters; what was sent before counts as cached."""
    content: list[Any] = ([ContentReasoning(reasoning=reasoning)] if reasoning else []) + ([ContentText(text=text)] if text else [])
    turn = sum(isinstance(message, ChatMessageAssistant) for message in messages)
    made = [
        ToolCall(id=f"call_{hashlib.sha256(f'{turn}/{index}/{name}'.encode()).hexdigest()[:12]}", function=name, arguments=arguments)
        for index, (name, arguments) in enumerate(calls)
    ]
    message = ChatMessageAssistant(content=content or "", tool_calls=made or None, model=model, source="generate")
    sizes = [len(one.text) // 4 + 4 for one in messages]
    fresh = sizes[-1] if sizes else 0
    spoken = (len(text) + sum(len(str(arguments)) for _, arguments in calls)) // 4 + 1
    thought = len(reasoning) // 4
    usage = ModelUsage(
        input_tokens=fresh, input_tokens_cache_read=sum(sizes) - fresh, output_tokens=spoken + thought, reasoning_tokens=thought,
        total_tokens=sum(sizes) + spoken + thought,
    )  # fmt: skip
    return ModelOutput(model=model, choices=[Choice(message=message, stop_reason="tool_calls" if made else "stop")], usage=usage)


def fenced(source: str, language: str) -> str:
    """A kernel as a code block."""
    return f"```{language}\n{source.rstrip()}\n```\n"
