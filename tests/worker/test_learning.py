"""What the zygote imports once for all: asked for by a problem's text, known to every later child, and nothing that is not on the list."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from popcorn.worker.learning import LONGEST, PACKAGES, learn, learnable
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
    assert learnable(TEXT) == ["transformers.models.gpt2", "transformers", "transformers.GPT2Config", "transformers.GPT2LMHeadModel"]
    assert learnable("def broken(:") == learnable("from transformers import " + "A" * 80)[1:] == []


@given(st.text(max_size=200))
def test_any_text_names_only_what_is_on_the_list(text):
    assert all(name.partition(".")[0] in PACKAGES and len(name) <= LONGEST for name in learnable(text))


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
