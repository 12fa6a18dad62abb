"""Tensors cross between processes unchanged, and no description that a hostile process can write does more than raise Alien."""

import json
import math
from enum import Enum
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.worker.mailbox import DTYPES, Alien, Full, attach, copy_of, create, free, leaves, pack, size_of, tensors_of, unpack

CPU = torch.device("cpu")
FLOATS = st.floats(allow_nan=False) | st.just(math.inf)
PLAIN = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | FLOATS | st.text(max_size=8)


@st.composite
def tensors(draw):
    """A tensor of any dtype in any of the layouts that views make: contiguous, transposed, stepped, offset, broadcast."""
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    bits = torch.randint(0, 2 if dtype is torch.bool else 256, (math.prod(shape) * dtype.itemsize,), generator=generator, dtype=torch.uint8)
    made = bits.view(dtype).reshape(shape)
    layout = draw(st.sampled_from(["contiguous", "transposed", "stepped", "offset", "broadcast"]))
    if layout == "transposed" and made.dim() > 1:
        return made.transpose(0, -1)
    if layout == "stepped" and made.dim():
        return made[..., ::2]
    if layout == "offset" and made.dim() and made.shape[0]:
        return made[1:]
    if layout == "broadcast":
        return made.unsqueeze(0).expand(3, *made.shape)
    return made


TREES = st.recursive(
    tensors() | PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def same_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return a.numel() == 0 or torch.equal(*(t.clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8) for t in (a, b)))


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and same_bytes(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b


@settings(max_examples=150, deadline=None)
@given(TREES)
def test_any_tree_comes_back_with_the_same_bytes_shapes_and_strides(tmp_path_factory, tree):
    folder = tmp_path_factory.mktemp("mailbox")
    sender = create(folder, "b", size_of(tree), CPU)
    described = json.loads(json.dumps(pack(tree, sender), allow_nan=False))
    receiver = attach(sender.address, CPU, writable=False)
    for private in (True, False):
        back = unpack(described, receiver, private)
        assert same(tree, back)
        for before, after in zip(tensors_of(tree), tensors_of(back), strict=True):
            if before.numel():
                assert before.stride() == after.stride()
    free(sender)


def test_a_reader_cannot_change_what_others_see(tmp_path):
    sender = create(tmp_path, "b", 4096, CPU)
    described = pack(torch.ones(4), sender)
    mine = attach(sender.address, CPU, writable=False)
    unpack(described, mine, private=False).fill_(7)
    other = attach(sender.address, CPU, writable=False)
    assert unpack(described, other).tolist() == [1, 1, 1, 1]


def test_a_private_copy_does_not_change_when_the_buffer_is_used_again(tmp_path):
    buffer = create(tmp_path, "b", 4096, CPU)
    kept = unpack(pack(torch.ones(4), buffer), buffer)
    buffer.reset()
    pack(torch.zeros(4), buffer)
    assert kept.tolist() == [1, 1, 1, 1]


@given(st.lists(tensors(), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_size_of_is_room_enough_and_one_byte_less_than_used_is_not(tmp_path_factory, trees):
    buffer = create(tmp_path_factory.mktemp("mailbox"), "b", size_of(trees), CPU)
    pack(trees, buffer)
    if buffer.used:
        buffer.flat = buffer.flat[: buffer.used - 1]
        buffer.reset()
        with pytest.raises(Full):
            pack(trees, buffer)
    free(buffer)


def test_what_is_no_plain_value_crosses_as_its_type_alone(tmp_path):
    """A subclass of Tensor is an alien, for its values could be made when they are read; anything else is merely not a tensor."""

    class Lazy(torch.Tensor):
        pass

    class Sneaky(dict):
        pass

    buffer = create(tmp_path, "b", 4096, CPU)
    assert pack(10**10000, buffer) == {"other": "number of 33220 bits"} and pack(-(1 << 63), buffer) == {"v": -(1 << 63)}
    for thing in (torch.ones(2).as_subclass(Lazy), Sneaky(a=1), {1: 2}, {3}, object(), 1j):
        described = pack(thing, buffer)
        tag = "alien" if isinstance(thing, torch.Tensor) else "other"
        assert list(described) == [tag] and type(thing).__qualname__ in described[tag]
        with pytest.raises(Alien):
            unpack(described, buffer)


GOOD = {"dtype": "float32", "shape": [2, 2], "stride": [2, 1], "at": 0}
HOSTILE = {
    "offset outside": {"at": 1 << 40},
    "offset just outside": {"at": 4096},
    "offset negative": {"at": -256},
    "offset unaligned": {"at": 4},
    "offset a float": {"at": 0.0},
    "offset a bool": {"at": True},
    "shape too large": {"shape": [1 << 20, 1 << 20]},
    "shape overflows 64 bits": {"shape": [(1 << 48) - 1] * 8, "stride": [1] * 8},
    "more elements than any memory, with no strides": {"shape": [1 << 40, 1 << 40], "stride": [0, 0]},
    "shape beyond any integer": {"shape": [1 << 200, 2]},
    "shape negative": {"shape": [-1, 2]},
    "shape a string": {"shape": "22"},
    "shape none": {"shape": None},
    "shape nested": {"shape": [[2], 2]},
    "stride reaches outside": {"stride": [1 << 30, 1]},
    "stride negative": {"stride": [-2, 1]},
    "stride too short": {"stride": [1]},
    "a thousand dimensions": {"shape": [1] * 1000, "stride": [1] * 1000},
    "unknown dtype": {"dtype": "object"},
    "dtype a list": {"dtype": ["float32"]},
    "dtype none": {"dtype": None},
    "one element over the end": {"dtype": "complex128", "shape": [257], "stride": [1]},
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_tensor_description_raises_alien(tmp_path, change):
    buffer = create(tmp_path, "b", 4096, CPU)
    assert unpack({"t": GOOD}, buffer).shape == (2, 2)
    with pytest.raises(Alien):
        unpack({"t": {**GOOD, **change}}, buffer)


def test_an_empty_tensor_with_impossible_strides_touches_nothing(tmp_path):
    buffer = create(tmp_path, "b", 4096, CPU)
    empty = unpack({"t": {**GOOD, "shape": [0, 2], "stride": [(1 << 48) - 1, 1]}}, buffer)
    assert empty.numel() == 0


MALFORMED = [
    None, 3, "t", [], {}, {"t": None}, {"t": []}, {"t": {}}, {"l": 3}, {"u": None}, {"l": "ab"}, {"l": {"a": 1}}, {"d": []}, {"d": 4},
    {"f": 1.0}, {"f": "zz"}, {"f": None}, {"f": "0x1p99999"}, {"v": []}, {"v": {"t": GOOD}}, {"v": [1, 2]}, {"v": 0.5}, {"x": 1},
    {"t": GOOD, "v": 1}, {"alien": {"a": 1}}, {"large": {"shape": [1]}}, {"l": [{"v": 1}, 2]},
]  # fmt: skip


@pytest.mark.parametrize("described", MALFORMED, ids=lambda d: json.dumps(d)[:40])
def test_a_malformed_tree_raises_alien(tmp_path, described):
    with pytest.raises(Alien):
        unpack(described, create(tmp_path, "b", 4096, CPU))


def test_a_tree_nested_without_end_raises_alien(tmp_path):
    described: dict = {"v": 1}
    for _ in range(5000):
        described = {"l": [described]}
    with pytest.raises(Alien):
        unpack(described, create(tmp_path, "b", 4096, CPU))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*"tvfludxnkw", "dtype", "shape", "stride", "at"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(
    JSON
    | st.fixed_dictionaries(
        {"t": st.fixed_dictionaries({"dtype": st.sampled_from(list(DTYPES)), "shape": JSON, "stride": JSON, "at": JSON})}
    )
)
def test_whatever_json_arrives_it_is_a_tree_or_alien(tmp_path_factory, described):
    buffer = create(tmp_path_factory.getbasetemp(), "fuzz", 4096, CPU)
    try:
        leaves(unpack(described, buffer), "out")
    except Alien:
        pass


def test_a_copy_keeps_strides_and_gaps_and_shares_nothing(tmp_path):
    wide = torch.arange(24.0).reshape(4, 6)
    for view in (wide[:, ::2], wide.t(), wide[1:3, 2:], wide[:1].expand(3, 6)):
        copied = copy_of(view)
        assert torch.equal(copied, view) and copied.stride() == view.stride()
        assert copied.untyped_storage().data_ptr() != wide.untyped_storage().data_ptr()


def test_leaves_name_their_place():
    tree = {"a": [1, (2, 3)], "b": {"c": 4}}
    assert leaves(tree, "out") == [("out['a'][0]", 1), ("out['a'][1][0]", 2), ("out['a'][1][1]", 3), ("out['b']['c']", 4)]


class Config:
    def __init__(self) -> None:
        self.width, self.dtype, self.inner = 8, torch.float16, SimpleNamespace(act="relu", device=torch.device("cpu"), dims=[1, (2, None)])

    @property
    def half(self) -> int:
        return self.width // 2


class Loud(Config):
    @property
    def loud(self) -> int:
        raise ValueError


def test_a_config_object_arrives_as_a_namespace_of_the_same_names(tmp_path):
    buffer = create(tmp_path, "b", 4096, CPU)
    got = unpack(json.loads(json.dumps(pack([Config()], buffer))), buffer)[0]
    assert (got.width, got.half, got.dtype, got.inner) == (8, 4, torch.float16, Config().inner)


@pytest.mark.parametrize(
    "made", [Loud(), SimpleNamespace(x=torch.ones(1)), torch.nn.Linear(1, 1), Enum("E", "A B").A, SimpleNamespace(f=len)]
)
def test_an_object_that_holds_or_does_more_crosses_as_its_type_alone(tmp_path, made):
    assert list(pack(made, create(tmp_path, "b", 4096, CPU))) == ["other"]


@pytest.mark.parametrize("described", [{"w": "cuda:99999999999"}, {"w": "cpu:x"}, {"k": "_inductor"}, {"k": "nn"}, {"n": []}])
def test_a_hostile_device_or_type_raises_alien(tmp_path, described):
    with pytest.raises(Alien):
        unpack(described, create(tmp_path, "b", 4096, CPU))


def test_a_config_object_that_holds_itself_ends(tmp_path):
    made = SimpleNamespace()
    made.own = made
    assert list(pack(made, create(tmp_path, "b", 4096, CPU))) == ["other"]
