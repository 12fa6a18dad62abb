"""What the zygote imports once for all: asked for by a problem's text, known to every later child, and nothing that is not on the list."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.worker.learning import MOST, learn, learnable
from tests.worker.conftest import Candidate

TEXT = """
import torch
import transformers.models.gpt2 as g
from transformers import GPT2Config, GPT2LMHeadModel as LM
from . import transformers
from os import path


class Model:
    from transformers import BertModel
"""


def test_a_problems_text_names_what_it_imports_from_packages_that_may_be_learned():
    assert learnable(TEXT) == ["transformers", "transformers.GPT2Config", "transformers.GPT2LMHeadModel"]
    assert learnable("def broken(:") == learnable("from transformers import " + "A" * 80 + "Model")[1:] == []


@pytest.mark.parametrize("name", ["Trainer", "TFGPT2Model", "FlaxBertModel", "pipeline", "é" * 20 + "Model", "models", "GPT2Tokenizer"])
def test_what_may_start_threads_or_touch_a_device_is_not_learned(name):
    assert learnable(f"from transformers import {name}") == ["transformers"]


@given(st.text(max_size=60))
def test_what_any_text_names_fits_a_message_to_the_zygote(text):
    found = learnable(f"from transformers import GPT2{text}Model, {text}Config\nimport {text}")
    assert len(found) <= MOST and all(len(f"learn {name}".encode()) <= 64 and name.partition(".")[0] == "transformers" for name in found)


def test_every_later_child_has_imported_what_was_learned_and_nothing_else_is(bench):
    learn("antigravity")
    assert "antigravity" not in sys.modules
    before = Candidate(bench)
    bench.learn("transformers.GPT2Config")
    after = Candidate(bench)
    question = 'answer(known="transformers.models.gpt2.configuration_gpt2" in sys.modules)'
    assert after.answer(question) == {"known": True} and "known" in before.answer(question)
    assert not bench.nursery.learn("transformers.GPT2Config"), "it knows"
    for one in (before, after):
        one.child.kill()
