"""`popcorn agent`, `popcorn mcp`, `popcorn eval --watch`: what they print, and how they refuse."""

import io

import pytest
from rich.console import Console

from popcorn.cli.agent_view import print_runs, spread, turn_line
from popcorn.schema.run import Run, Tokens, ToolCall, Turn
from tests.cli.command import assert_one_sentence, popcorn


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("popcorn/L1/29", "--model", "nobody"), 68, "no model"),
        (("popcorn/L1/29", "--tier", "none"), 68, "no tier"),
        (("popcorn/L1/999",), 61, "nearest"),
    ],
)
def test_a_mistake_ends_in_one_sentence(tmp_path, arguments, code, says):
    assert_one_sentence(popcorn("agent", *arguments, cache=tmp_path / "cache"), code, says)


def test_watch_wants_a_folder(tmp_path):
    assert_one_sentence(popcorn("eval", "popcorn/L1/29", tmp_path / "none", "--watch", cache=tmp_path / "cache"), 60, "not a folder")


def run(**changes) -> Run:
    hostile = "[bold]x[/bold]\x1b[31m\u202e"
    call = ToolCall(tool=hostile, arguments={"kernel_code": hostile}, result=hostile, ok=False, error="unknown_tool")
    turn = Turn(
        index=1,
        wall_s=2.0,
        llm_s=1.0,
        tool_s=1.0,
        queue_s=0.5,
        tokens=Tokens(input=1925, output=6, total=1931),
        calls=(call,),
        text=hostile,
    )
    given = {
        "id": "0" * 16, "problem": "popcorn/L1/29", "model": hostile, "tier": "all", "language": "c", "precision": "float32", "max_turns": 3,
        "turns": (turn,), "outcome": "correct", "speedup": 2.0, "reason": hostile, "ended_by": "turns", "submitted_by": "harness", "tool_calls": 1,
    }  # fmt: skip
    return Run(**{**given, **changes})


def printed(runs: list[Run], **given) -> str:
    console = Console(width=100, force_terminal=False, file=io.StringIO())
    print_runs(runs, console, **given)
    return console.file.getvalue()


def test_turns_that_were_told_as_they_came_are_not_told_again():
    first, second = run(), run(id="1" * 16)
    assert printed([first, second]).count("turn 01") == 2 and printed([first, second], told={(first.id, 1)}).count("turn 01") == 1


def test_a_transcript_is_readable_and_its_text_harmless():
    text = printed([run(), run(repeat=2, speedup=4.0), run(repeat=3, outcome="wrong_values", speedup=None)])
    assert "\x1b" not in text and "\u202e" not in text and "[bold]x[/bold]" in text
    assert "turn 01 2.0s · 1.0s LLM · 1.0s tools (0.5 s queued) · in=1,925 out=6" in text
    assert "the best correct kernel so far was submitted by the harness" in text
    assert "2 of 3 correct · speedup 2.00× to 4.00×" in text
    assert max(len(line) for line in text.splitlines()) <= 100 and not [line for line in text.splitlines() if line != line.rstrip()]


def test_a_run_whose_controls_failed_is_called_unfit():
    data = {"record_id": "feed", "fit": False}
    judged = Turn(index=1, calls=(ToolCall(tool="submit_kernel", data=data),))
    text = printed([run(record_id="feed", turns=(judged,)), run(repeat=2, record_id="beef", turns=(judged,))])
    assert text.count("2.00× unfit") == 1 and "its speedup claims nothing" in text


def test_the_spread_says_what_is_known():
    assert spread([run(outcome="no_kernel", speedup=None)]) == "0 of 1 correct"
    assert "unknown_tool" in turn_line(run().turns[0])
