"""Counting runs: weights that reach the result, rows looked up, products of fused layers; and references held up by a loop of their own."""

import torch
from torch import nn

from popcorn.worker.pacing import LIMIT, pace_of
from popcorn.worker.reading import product_flops, weight_bytes


class Looks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.used, self.idle = nn.Embedding(1000, 8), nn.Linear(8, 4, bias=False), nn.Linear(8, 4)
        self.register_buffer("mask", torch.ones(4))

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        rows = self.table(index)
        self.idle(rows)  # computed, and no output needs it
        return self.used(rows) * self.mask


def test_rows_are_counted_and_what_reaches_no_output_is_not() -> None:
    model = Looks()
    index = torch.arange(5)
    assert weight_bytes(model, lambda: [model(index)]) == 4 * (5 * 8 + 8 * 4 + 4)
    wide = index[None].expand(3, 5)
    assert weight_bytes(model, lambda: [model(wide)]) == 4 * (5 * 8 + 8 * 4 + 4)


def test_a_table_that_is_multiplied_too_is_read_whole() -> None:
    model = Looks()
    assert weight_bytes(model, lambda: [model.table(torch.arange(5)) @ model.table.weight.t()]) == 4 * 8000


def test_what_is_written_in_place_reaches_the_output() -> None:
    weight = nn.Linear(4, 4, bias=False)

    def run() -> list[torch.Tensor]:
        out = torch.zeros(2, 4)
        out[0] = weight(torch.ones(4))
        return [out]

    assert weight_bytes(weight, run) == 64


def test_recurrent_layers_are_taken_apart_and_causal_scores_are_a_triangle() -> None:
    lstm, x = nn.LSTM(8, 16), torch.randn(5, 3, 8)
    assert product_flops(lambda: lstm(x)) == 2 * 5 * 3 * 4 * 16 * (8 + 16)
    q = torch.randn(2, 3, 6, 4)
    attend = torch.nn.functional.scaled_dot_product_attention
    full = product_flops(lambda: attend(q, q, q))
    assert full == 2 * 2 * (2 * 3) * 36 * 4 and product_flops(lambda: attend(q, q, q, is_causal=True)) == full * 21 // 36


def test_a_loop_over_numbers_is_held_up_by_itself_and_a_whole_operation_is_not() -> None:
    x = torch.randn(3000)
    looped = pace_of(lambda: [x[index] + 1 for index in range(len(x))], lambda: None, torch.device("cpu"))
    assert looped.operators == 6000 and looped.different <= 4 and looped.slowdown > LIMIT
    large = torch.randn(500, 500)
    whole = pace_of(lambda: large @ large, lambda: None, torch.device("cpu"))
    assert whole.operators == 1 and whole.slowdown == 1.0
