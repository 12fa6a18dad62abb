"""What PopcornBench files find under the injected name: sizes and graphs for a trial, each size drawn once. Needs torch."""

import contextlib
import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from popcorn.errors import BadProblem
from popcorn.suites.jitter import Dim

DEGREE_SPREAD = 8
"""Node degrees lie this far around their average."""


class ForeignInputs:
    """The names of PopcornBench's input generators, with sizes that come from the trial's `dims` instead of a draw for every call.

    `dims` grows as a file asks for sizes: each (default, align) becomes one Dim, named after the file's own constant of that value.
    """

    def __init__(self) -> None:
        self.dims: dict[str, Dim] = {}
        self.constants: dict[str, int] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._trial: Mapping[str, int] = {}
        self._own: random.Random | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        offered = ", ".join(key for key in vars(type(self)) if not key.startswith("_") and key not in ("trial", "take", "own_draws"))
        raise BadProblem(f"the file asks for popcorn_pri.{name}, which Popcorn does not offer; expected one of {offered}")

    @contextlib.contextmanager
    def trial(self, dims: Mapping[str, int]) -> Iterator[None]:
        """Within: sizes named in `dims` have these values, the others the file's own."""
        before, self._trial = self._trial, dims
        try:
            yield
        finally:
            self._trial = before

    @contextlib.contextmanager
    def own_draws(self, seed: int) -> Iterator[None]:
        """Within: every call draws for itself, as the file's own benchmark does."""
        self._own = random.Random(seed)
        try:
            yield
        finally:
            self._own = None

    def take(self, default: int, low: int, high: int, align: int, name: str | None = None) -> int:
        """The trial's size for (default, align); the first to ask fixes its range and name."""
        key = (default, align)
        if key not in self._names:
            nominal = min(max(_floor(default, align), low), high)
            self._names[key] = self._free_name(default, name)
            self.dims[self._names[key]] = Dim(nominal, low=low, high=high, align=align)
        if self._own is not None:
            return self._own.randint(-(-low // align), high // align) * align
        return int(self._trial.get(self._names[key], default))

    def _free_name(self, default: int, hint: str | None) -> str:
        own = [name for name, value in self.constants.items() if value == default and name not in self.dims]
        wanted = hint if hint and (hint in own or not own) else own[0] if own else f"size{default}"
        return wanted if wanted not in self.dims else f"{wanted}_{len(self.dims)}"

    def jitter_int(
        self, default: int, *, min_ratio: float = 0.85, max_ratio: float = 1.15, minimum: int = 1, align: int = 1, name: str | None = None
    ) -> int:
        """A size around default, a multiple of align, within the ratios."""
        low = max(minimum, int(default * min_ratio), 1)
        high = max(low, int(default * max_ratio))
        return self.take(default, _floor(low, align), _floor(high, align), align, name)

    def trial_dim(
        self,
        center: int,
        name: str = "",
        *,
        mode: str | None = None,
        min_ratio: float | None = None,
        max_ratio: float | None = None,
        minimum: int = 1,
        align: int = 1,
        pair_attention: bool = False,
    ) -> int:
        """A size within ±20 % of center. `mode` and `pair_attention` steer the peer's own draw and change nothing here."""
        return self.jitter_int(
            center, min_ratio=min_ratio or 0.8, max_ratio=max_ratio or 1.2, minimum=minimum, align=align, name=name or None
        )

    def sample_input_mode(self, **shares: float) -> str:
        """The peer's common mode: band, awkward and wide sizes are drawn by Popcorn's own plan."""
        return "large_band"

    def trial_int(self, low: int, high: int) -> int:
        """A number of [low, high] from torch's generator: a value, not a size."""
        return int(torch.randint(min(low, high), max(low, high) + 1, (1,)).item())

    def sample_multihead_dims(
        self,
        num_heads_default: int,
        head_dim_default: int,
        *,
        head_choices: tuple[int, ...] = (4, 8, 16),
        dim_choices: tuple[int, ...] = (16, 32, 64),
    ) -> tuple[int, int]:
        """Heads and head size, near their defaults."""
        heads = [one for one in head_choices if abs(one - num_heads_default) <= 8] or list(head_choices)
        sizes = [one for one in dim_choices if abs(one - head_dim_default) <= 32] or list(dim_choices)
        return self._among(num_heads_default, heads, "num_heads"), self._among(head_dim_default, sizes, "head_dim")

    def _among(self, default: int, pool: list[int], name: str) -> int:
        align = math.gcd(*pool)
        if default % align or not min(pool) <= default <= max(pool):
            return self.take(default, default, default, 1, name)
        return self.take(default, min(pool), max(pool), align, name)

    def random_node_degrees(self, num_nodes: int, avg_degree: int, *, min_degree: int = 1, spread: int = DEGREE_SPREAD) -> torch.Tensor:
        """int32 (num_nodes,), uniform around avg_degree."""
        return torch.randint(max(min_degree, avg_degree - spread), avg_degree + spread + 1, (num_nodes,), dtype=torch.int32)

    def csr_row_ptr_from_degrees(self, degree: torch.Tensor) -> torch.Tensor:
        """int32 (nodes + 1,): where each row begins."""
        return torch.nn.functional.pad(degree.cumsum(0), (1, 0)).to(torch.int32)

    def random_csr_row_ptr(self, num_nodes: int, avg_degree: int) -> torch.Tensor:
        """int32 (num_nodes + 1,) with random degrees."""
        return self.csr_row_ptr_from_degrees(self.random_node_degrees(num_nodes, avg_degree))

    def make_csr_graph(
        self,
        num_nodes_default: int,
        avg_degree_default: int,
        feat_dim_default: int,
        *,
        jitter_nodes: bool = True,
        jitter_feat: bool = True,
        mode: str | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(row_ptr int32, col_idx int32, node features float)."""
        nodes = self.jitter_int(num_nodes_default, name="num_nodes") if jitter_nodes else num_nodes_default
        row_ptr, col_idx = self._graph(nodes, avg_degree_default)
        width = self.jitter_int(feat_dim_default, align=8, name="feat_dim") if jitter_feat else feat_dim_default
        return row_ptr, col_idx, torch.randn(nodes, width)

    def make_csr_graph_with_edge_weights(
        self, num_nodes_default: int, avg_degree_default: int, feat_dim_default: int, *, mode: str | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """(row_ptr, col_idx, edge weights, node features)."""
        row_ptr, col_idx, features = self.make_csr_graph(num_nodes_default, avg_degree_default, feat_dim_default)
        return row_ptr, col_idx, torch.randn(col_idx.numel()), features

    def make_csr_degree_normalized_graph(
        self, num_nodes_default: int, avg_degree_default: int, feat_dim_default: int, *, mode: str | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """(row_ptr, col_idx, node features, in-degrees + 1 as float)."""
        row_ptr, col_idx, features = self.make_csr_graph(num_nodes_default, avg_degree_default, feat_dim_default)
        degrees = torch.bincount(col_idx.long(), minlength=features.shape[0]).to(features.dtype) + 1
        return row_ptr, col_idx, features, degrees

    def make_csr_multihead_spmm_graph(
        self,
        num_nodes_default: int,
        avg_degree_default: int,
        num_heads_default: int,
        head_dim_default: int,
        *,
        mode: str | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """(row_ptr, col_idx, edge weights (edges, heads), node features (nodes, heads, head size))."""
        nodes = self.jitter_int(num_nodes_default, name="num_nodes")
        heads, size = self.sample_multihead_dims(num_heads_default, head_dim_default)
        row_ptr, col_idx = self._graph(nodes, avg_degree_default)
        return row_ptr, col_idx, torch.randn(col_idx.numel(), heads), torch.randn(nodes, heads, size)

    def make_csr_scalar_edge_scores(
        self, num_nodes_default: int, avg_degree_default: int, *, mode: str | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(row_ptr, scores (edges,))."""
        row_ptr = self.random_csr_row_ptr(self.jitter_int(num_nodes_default, name="num_nodes"), avg_degree_default)
        return row_ptr, torch.randn(int(row_ptr[-1]))

    def make_csr_multihead_edge_scores(
        self, num_nodes_default: int, avg_degree_default: int, num_heads_default: int, *, mode: str | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(row_ptr, scores (edges, heads))."""
        row_ptr = self.random_csr_row_ptr(self.jitter_int(num_nodes_default, name="num_nodes"), avg_degree_default)
        heads, _ = self.sample_multihead_dims(num_heads_default, 32)
        return row_ptr, torch.randn(int(row_ptr[-1]), heads)

    def make_csr_fused_attention_value_graph(
        self, num_nodes_default: int, avg_degree_default: int, feat_dim_default: int, *, mode: str | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """(row_ptr, col_idx, scores (edges,), node values)."""
        row_ptr, col_idx, _ = self.make_csr_graph(num_nodes_default, avg_degree_default, feat_dim_default)
        width = self.jitter_int(feat_dim_default, align=8, name="feat_dim")
        return row_ptr, col_idx, torch.randn(col_idx.numel()), torch.randn(row_ptr.numel() - 1, width)

    def moe_dispatch_inputs(
        self, num_tokens_default: int, hidden_dim_default: int, num_experts_default: int, *, mode: str | None = None
    ) -> list[torch.Tensor]:
        """[hidden states, expert of each token int32, place within its expert int32, expert offsets int32]."""
        tokens = self.jitter_int(num_tokens_default, align=64, name="num_tokens")
        hidden = self.jitter_int(hidden_dim_default, align=16, name="hidden_dim")
        experts = max(2, min(self.trial_dim(num_experts_default, "num_experts", minimum=2), tokens))
        states, expert = torch.randn(tokens, hidden), torch.randint(0, experts, (tokens,), dtype=torch.int32)
        offsets = self.csr_row_ptr_from_degrees(torch.bincount(expert.long(), minlength=experts))
        order = torch.argsort(expert, stable=True)
        place = torch.empty(tokens, dtype=torch.int32)
        place[order] = torch.arange(tokens, dtype=torch.int32) - offsets[expert[order].long()]
        return [states, expert, place, offsets]

    def moe_combine_inputs(
        self, num_tokens_default: int, hidden_dim_default: int, fanout_default: int, *, mode: str | None = None
    ) -> list[Any]:
        """[expert outputs, token of each row int32, gates, number of tokens]."""
        tokens = self.jitter_int(num_tokens_default, align=64, name="num_tokens")
        hidden = self.jitter_int(hidden_dim_default, align=16, name="hidden_dim")
        fanout = self.trial_dim(fanout_default, "fanout")
        gates = torch.softmax(torch.randn(tokens, fanout), dim=-1).reshape(-1)
        return [torch.randn(tokens * fanout, hidden), torch.randint(0, tokens, (tokens * fanout,), dtype=torch.int32), gates, tokens]

    def _graph(self, nodes: int, avg_degree: int) -> tuple[torch.Tensor, torch.Tensor]:
        row_ptr = self.random_csr_row_ptr(nodes, avg_degree)
        return row_ptr, torch.randint(0, nodes, (int(row_ptr[-1]),), dtype=torch.int32)


def _floor(value: int, align: int) -> int:
    """The largest multiple of align not above value, at least align."""
    return max(align, value // align * align)
