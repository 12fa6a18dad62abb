"""models.toml and tiers.toml of a user's own: as editors write them, and with what is missing said in words."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from popcorn.agents.models import find_model, models, open_model
from popcorn.agents.tiers import tiers
from popcorn.errors import BadAgent

READERS: dict[str, Callable[[Path], dict[str, Any]]] = {"models": models, "tiers": tiers}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("content", [b"\xff\xfe[\x00a\x00]\x00", b"[a", b'a = "b"', b"[a]\nunknown = 1\n"])
def test_a_file_that_is_no_table_ends_in_one_sentence_that_names_it(tmp_path: Path, kind: str, content: bytes) -> None:
    (tmp_path / "mine.toml").write_bytes(content)
    with pytest.raises(BadAgent, match=rf"mine\.toml.*{kind}"):
        READERS[kind](tmp_path / "mine.toml")


def test_an_unknown_key_is_told_with_its_table_and_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[thrifty]\nturns = 4\n")
    with pytest.raises(BadAgent, match=r"\[thrifty\]: there is no key 'turns'; the nearest is 'max_turns'"):
        tiers(tmp_path / "mine.toml")
    (tmp_path / "mine.toml").write_text("[mine]\nconnections = 4\n")
    with pytest.raises(BadAgent, match=r"\[mine\]: 'provider' is missing"):
        models(tmp_path / "mine.toml")


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b'\xef\xbb\xbf[mine]\r\nprovider = "openai/gpt-5"\r\n')
    assert models(tmp_path / "mine.toml")["mine"].provider == "openai/gpt-5"


def test_a_model_without_its_key_says_what_to_export(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AZUREAI_OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BadAgent, match=r"No OPENAI_API_KEY.*Export what it misses; scripted/steady needs no key") as caught:
        open_model(find_model("openai/gpt-5"))
    assert "[bold]" not in str(caught.value)


def test_a_provider_that_does_not_answer_is_told_on_stderr_in_one_plain_line(capsys) -> None:
    from popcorn.agents.models import _tell_waits

    text = "[id kernels/x openai/gpt-x] -> gpt-x retry 2 (retrying in 7 seconds) [APIConnection\x1b[2JError] [0 out-tok/s, 1 in backoff]"
    kept = [_tell_waits(logging.makeLogRecord({"msg": words, "levelno": logging.INFO})) for words in (text, "something else")]
    assert kept == [False, False]
    assert capsys.readouterr().err == "no answer yet: gpt-x retry 2 (retrying in 7 seconds) [APIConnection[2JError]\n"
