"""What a side of a comparison is made of."""

from types import SimpleNamespace

import pytest
import torch

from popcorn.records.store import Store
from popcorn.schema.verdict import Verdict
from popcorn.worker import compiled
from popcorn.worker.failure import Failed
from popcorn.worker.side import _compiled
from popcorn.worker.subject import load_reference
from tests.made_records import make_record


class Scaled(torch.nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def test_under_torch_compile_the_references_weights_keep_their_names() -> None:
    sides = [load_reference(one, [4], 1, "float32", torch.device("cpu"), True) for one in (Scaled, _compiled(Scaled))]

    assert list(sides[0].parameters) == list(sides[1].parameters) == ["weight"]
    assert sides[1].forward._compiled_call_impl is not None


def test_a_reference_whose_weights_have_no_size_yet_says_what_to_do() -> None:
    with pytest.raises(Failed, match=r"`weight` has no size.*Model.__init__"):
        load_reference(torch.nn.LazyLinear, [4], 1, "float32", torch.device("cpu"), False)


def test_a_refusal_of_torch_compile_for_such_names_is_not_remembered(tmp_path, monkeypatch) -> None:
    store, refused = (
        Store(tmp_path),
        "torch.compile's own result does not pass: the outputs are out['out'], out['grad']['_orig_mod.weight']",
    )
    for reason in (refused, "another"):
        record = make_record("wrong_shape").model_copy(
            update={"kind": "baseline", "verdict": Verdict(outcome="wrong_shape", reason=reason)}
        )
        record = record.model_copy(update={"id": reason.encode().hex()[:16]})
        problem = SimpleNamespace(id=record.subject.problem, hash=record.subject.problem_hash)
        session = SimpleNamespace(bench=SimpleNamespace(machine=record.machine), request=SimpleNamespace(problem=problem))
        monkeypatch.setattr(compiled, "case_of", lambda _, case=record.case: case)
        store.append(record)
        found = compiled.find_baseline(session, store)
        assert found is None if reason == refused else found.verdict.reason == reason
