"""What a side of a comparison is made of."""

import pytest
import torch

from popcorn.worker.failure import Failed
from popcorn.worker.side import _compiled
from popcorn.worker.subject import load_reference


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
