"""The chunked last layer: rows left out, and memory that does not grow with the logits."""

import pytest
import torch

from popcorn.measure.memory import measure_memory
from popcorn.ops import linear_cross_entropy
from popcorn.ops.library.linear_cross_entropy import impl_chunked


@pytest.mark.parametrize("chunk", [1, 50, 1 << 22])
def test_rows_left_out_count_nowhere_in_chunks_of_any_size(chunk, monkeypatch):
    monkeypatch.setattr(impl_chunked, "CHUNK", chunk)
    torch.manual_seed(0)
    x, weight, target = torch.randn(3, 4, 8, requires_grad=True), torch.randn(11, 8, requires_grad=True), torch.randint(0, 11, (3, 4))
    target[0, :2] = impl_chunked.LEFT_OUT
    results = []
    for name in ("chunked", "torch"):
        loss = linear_cross_entropy[name](x, weight, target)
        results.append([loss.detach(), *torch.autograd.grad(loss * 3, [x, weight])])
    torch.testing.assert_close(*results)


def test_only_the_asked_gradient_is_made():
    x, weight, target = torch.randn(4, 8), torch.randn(11, 8, requires_grad=True), torch.randint(0, 11, (4,))
    (grad,) = torch.autograd.grad(linear_cross_entropy["chunked"](x, weight, target), [weight])
    assert grad.shape == weight.shape


def test_memory_is_that_of_one_chunk(monkeypatch):
    monkeypatch.setattr(impl_chunked, "CHUNK", 1 << 16)
    x, weight, target = torch.randn(2048, 16), torch.randn(4096, 16), torch.randint(0, 4096, (2048,))
    with torch.no_grad():
        peaks = [measure_memory(lambda run=linear_cross_entropy[n]: run(x, weight, target), "cpu").peak_bytes for n in ("chunked", "torch")]
    assert peaks[0] < peaks[1] / 10


def test_without_gradients_asked_none_are_made(monkeypatch):
    x, weight, target = torch.randn(8, 4), torch.randn(16, 4, requires_grad=True), torch.randint(0, 16, (8,))
    made = []
    softmax = torch.softmax
    monkeypatch.setattr(torch, "softmax", lambda *args: made.append(args) or softmax(*args))  # what a gradient begins with
    with torch.no_grad():
        quiet = linear_cross_entropy["chunked"](x, weight, target)
    assert not made and not quiet.requires_grad
    torch.testing.assert_close(linear_cross_entropy["chunked"](x, weight, target).detach(), quiet)
    assert made
