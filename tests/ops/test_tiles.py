"""Tiles, rows and spans: what GPU programs are given, without a GPU."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from popcorn.ops.tiles import WIDEST, as_rows, as_spans, block_of, patch_of, tile_of


@given(st.integers(1, WIDEST))
def test_a_tile_holds_whole_rows_and_at_most_32_elements_a_thread(width):
    tile = tile_of(width)
    assert tile.block >= width and tile.block & (tile.block - 1) == 0
    assert 4 <= tile.warps <= 32 and tile.rows * tile.block <= tile.warps * 32 * 32
    assert block_of(width) & (block_of(width) - 1) == 0


@given(st.integers(1, 10_000), st.integers(1, 200_000))
def test_patches_cover_all_rows(rows, width):
    patch = patch_of(rows, width)
    assert patch.rows * patch.block == 2048
    assert patch.programs == -(-rows // patch.rows) * -(-width // patch.block)


@pytest.mark.parametrize("shape", [(6, 8), (2, 3, 8), (8,)])
def test_rows_that_lie_apart_are_not_copied(shape):
    wide = (
        torch.arange(2 * torch.Size(shape).numel(), dtype=torch.float32).reshape(*shape[:-1], 16) if len(shape) > 1 else torch.arange(16.0)
    )
    part = wide[..., 4:12]
    rows, step = as_rows(part, 8)
    assert rows.data_ptr() == part.data_ptr() and step == (16 if len(shape) > 1 else 8)


@pytest.mark.parametrize("layout", ["transposed", "every second", "stride 0 along the row"])
def test_rows_whose_elements_lie_apart_are_copied_once(layout):
    made = {
        "transposed": torch.randn(8, 6).t(),
        "every second": torch.randn(6, 16)[:, ::2],
        "stride 0 along the row": torch.randn(6, 1).expand(6, 8),
    }
    rows, step = as_rows(made[layout], 8)
    assert step == 8 and rows.stride(-1) == 1
    torch.testing.assert_close(rows.reshape(6, 8), made[layout])


def test_contiguous_tensors_are_one_span_and_others_a_span_a_row():
    x = torch.randn(6, 8)
    assert as_spans((x, x), 8)[1:] == ([0, 0], 1, 48)
    _, steps, spans, width = as_spans((x, torch.randn(6, 16)[:, :8]), 8)
    assert (steps, spans, width) == ([8, 16], 6, 8)
