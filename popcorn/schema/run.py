"""Run: the trajectory of an agent or a search, turn by turn."""

from typing import Any, Literal

from pydantic import Field

from popcorn.schema.case import Frozen


class Tokens(Frozen):
    """Tokens of one call or one run."""

    input: int | None = None
    """Prompt tokens, cached ones included."""
    cached: int | None = None
    """Those of `input` that were read from a cache."""
    output: int | None = None
    """Answer tokens, reasoning included."""
    reasoning: int | None = None
    """Reasoning tokens."""
    total: int | None = None
    """input + output."""


class ToolCall(Frozen):
    """One call of one tool."""

    tool: str
    """Name of the tool."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """As the model gave them."""
    result: str = ""
    """The text that the model got back."""
    data: dict[str, Any] = Field(default_factory=dict)
    """The same, structured."""
    ok: bool = True
    """False when the tool refused or failed."""
    error: str | None = None
    """Kind of failure: parsing, unknown_tool, timeout, limit, infrastructure."""
    wall_s: float | None = None
    """From call to result."""
    queue_s: float | None = None
    """Of that, waiting for a lane."""
    run_s: float | None = None
    """Of that, working."""


class Turn(Frozen):
    """One exchange with the model."""

    index: int
    """From 1."""
    started: str | None = None
    """UTC, ISO 8601."""
    wall_s: float | None = None
    """The whole turn."""
    llm_s: float | None = None
    """Waiting for the model."""
    tool_s: float | None = None
    """Waiting for tools, queue included."""
    queue_s: float | None = None
    """Of that, in queues."""
    tokens: Tokens = Tokens()
    """Tokens of this turn."""
    cost_usd: float | None = None
    """Money of this turn; None when the price is unknown."""
    retries: int = 0
    """Times the provider had to be asked again."""
    reasoning: str | None = None
    """The model's reasoning, where the provider gives it."""
    text: str | None = None
    """The model's answer outside tool calls."""
    calls: tuple[ToolCall, ...] = ()
    """Tool calls in order."""
    note: str | None = None
    """What the harness told the model before this turn: budgets near their end, the last turn, an answer without a call."""
    stop_reason: str | None = None
    """Why the model stopped, as the provider says: stop, tool_calls, max_tokens, model_length, …"""
    final: bool = False
    """True on the turn that ended the run."""


class Run(Frozen):
    """A model (or a search) at work on one problem."""

    id: str
    """Stable id of the run."""
    problem: str
    """Problem id, `popcorn/L1/29`."""
    model: str
    """Row of models.toml."""
    tier: str
    """Tool tier."""
    language: str
    """Language asked for: cuda, triton, …"""
    precision: str
    """Precision asked for."""
    max_turns: int | None = None
    """Turn budget."""
    max_tool_calls: int | None = None
    """Tool call budget."""
    turns: tuple[Turn, ...] = ()
    """In order."""
    tool_calls: int = 0
    """In all."""
    tokens: Tokens = Tokens()
    """In all."""
    cost_usd: float | None = None
    """In all."""
    wall_s: float | None = None
    """From start to end."""
    truncated: bool = False
    """True when history had to be cut to fit the model's window."""
    ended_by: Literal["submit", "turns", "tool_calls", "tokens", "money", "wall", "error", "stopped"] | None = None
    """What ended it; None while it runs."""
    repeat: int = 1
    """Number of this run among the repeats of the same question, from 1."""
    device: str | None = None
    """Device id of the machine that judged."""
    submitted_by: Literal["model", "harness"] | None = None
    """`harness`: a budget ended before the model submitted, and the best correct kernel so far was submitted in its place."""
    outcome: str | None = None
    """Outcome of the final kernel, `no_kernel` when there was none; None while it runs."""
    speedup: float | None = None
    """Of the final kernel over eager; None without a pass."""
    reason: str | None = None
    """What failed, when the run ended by an error."""
    max_tokens: int | None = None
    """Token budget, input and output together."""
    max_cost_usd: float | None = None
    """Money budget."""
    max_wall_s: float | None = None
    """Wall-clock budget."""
    prompt: str | None = None
    """The exact prompt, as rendered."""
    reference: str | None = None
    """The reference source as the model saw it."""
    candidate: str | None = None
    """The final kernel in full."""
    record_id: str | None = None
    """The record of the final kernel."""
    started: str | None = None
    """UTC, ISO 8601."""
    finished: str | None = None
    """UTC, ISO 8601."""
    harness: str | None = None
    """Version of Popcorn."""
