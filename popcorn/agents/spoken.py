"""What a model said, as the nouns keep it: tokens, reasoning, text, calls; hostile sizes cut before anything is stored. Needs Inspect."""

from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput

from popcorn.agents.workbench import MAX_KERNEL_BYTES
from popcorn.schema.run import Tokens

MAX_TEXT = 300_000
MAX_REASONING = 300_000
MAX_CALLS = 64
_HEAD = 2_000


@dataclass
class Said:
    """One answer of a model, and what asking for it took."""

    output: ModelOutput
    llm_s: float = 0.0
    retries: int = 0
    started: str = ""
    trims: int = 0
    """Times the history had to be cut to fit the model's window."""
    note: str | None = None
    """What the harness told it before."""
    oversize: dict[str, int] = field(default_factory=dict)
    """Call id → bytes of an argument that was cut, since nobody reads so much."""

    @property
    def message(self) -> ChatMessageAssistant:
        """The answer as a message."""
        return self.output.message


def tokens_of(output: ModelOutput) -> Tokens:
    """Inspect counts input without cached tokens; ours has them in."""
    usage = output.usage
    if usage is None:
        return Tokens()
    cached = usage.input_tokens_cache_read or 0
    asked = usage.input_tokens + cached + (usage.input_tokens_cache_write or 0)
    return Tokens(
        input=asked, cached=usage.input_tokens_cache_read, output=usage.output_tokens, reasoning=usage.reasoning_tokens, total=asked + usage.output_tokens
    )  # fmt: skip


def add(first: Tokens, second: Tokens) -> Tokens:
    """Sum of two counts; unknown only where both are."""

    def plus(a: int | None, b: int | None) -> int | None:
        return None if a is None and b is None else (a or 0) + (b or 0)

    return Tokens(**{name: plus(getattr(first, name), getattr(second, name)) for name in Tokens.model_fields})


def text_of(message: ChatMessageAssistant) -> str | None:
    """The answer outside reasoning and calls."""
    return message.text[:MAX_TEXT].strip() or None


def reasoning_of(message: ChatMessageAssistant) -> str | None:
    """Reasoning, or its summary where the provider gives no more."""
    if isinstance(message.content, str):
        return None
    parts = [part.summary or part.reasoning for part in message.content if isinstance(part, ContentReasoning)]
    return "\n\n".join(part for part in parts if part)[:MAX_REASONING] or None


def slim(output: ModelOutput) -> tuple[ModelOutput, dict[str, int]]:
    """The answer without what nobody will read: arguments over the size of a kernel, texts of megabytes, calls by the hundred."""
    message = output.message
    oversize: dict[str, int] = {}
    calls = list(message.tool_calls or [])[:MAX_CALLS]
    for call in calls:
        call.arguments, size = _slim(call.arguments)
        if size:
            oversize[call.id] = size
        if call.parse_error:
            call.parse_error = call.parse_error[:500]
        call.function = str(call.function)[:100]
    message.tool_calls = calls or None
    if isinstance(message.content, str):
        message.content = _sound(message.content[:MAX_TEXT])
    else:
        for part in message.content:
            if isinstance(part, ContentText):
                part.text = _sound(part.text[:MAX_TEXT])
            elif isinstance(part, ContentReasoning):
                part.reasoning = _sound(part.reasoning)
    return output, oversize


def _sound(value: Any) -> Any:
    """The same with half characters (lone surrogates, which no file takes) replaced, however deep they lie."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_sound(one) for one in value]
    if isinstance(value, dict):
        return {_sound(str(name)): _sound(one) for name, one in value.items()}
    return value


def _slim(arguments: Any) -> tuple[dict[str, Any], int]:
    if not isinstance(arguments, dict):
        return {}, 0
    kept, largest = {}, 0
    for name, value in list(arguments.items())[:20]:
        size = (
            len(value.encode("utf-8", "surrogatepass"))
            if isinstance(value, str)
            else len(repr(value))
            if not isinstance(value, int | float)
            else 0
        )
        if size > MAX_KERNEL_BYTES:
            largest = max(largest, size)
            value = f"{str(value)[:_HEAD]}\n… cut: {size:,} bytes in all"
        kept[_sound(str(name)[:100])] = _sound(value)
    return kept, largest
