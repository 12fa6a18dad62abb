"""Results read out of another process's memory: what is there is read, what is not there is said, and no lie of a process hurts its reader."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from popcorn.worker.mailbox import Alien, attach, create, pack, unpack
from popcorn.worker.places import Places
from popcorn.worker.presence import Absent, fetch, mapped, read_memory, readable, repeated, views
from popcorn.worker.stacking import slots_of, stacked

CPU = torch.device("cpu")


def fetched(told: dict, index: int, folder: Path) -> torch.Tensor | tuple | dict:
    outbox = create(folder, "out", 1 << 16, CPU)
    with Path(outbox.address["path"]).open("r+b") as file:
        tree, _ = fetch(os.getpid(), told, index, file.fileno(), outbox.size, 0)
    return unpack(tree, attach(outbox.address, CPU, writable=False))


def test_results_are_read_where_they_lie_with_their_strides(tmp_path: Path) -> None:
    places = Places()
    results = [{"a": torch.randn(3, 4).t(), "b": (torch.arange(5), torch.randn(2, dtype=torch.float64))} for _ in range(3)]
    for result in results:
        places.add(result)
    for index, result in enumerate(results):
        got = fetched(places.told(), index, tmp_path)
        assert torch.equal(got["a"], result["a"]) and got["a"].stride() == result["a"].stride()
        assert torch.equal(got["b"][0], result["b"][0]) and torch.equal(got["b"][1], result["b"][1])


def test_a_view_into_something_larger_than_the_room_is_read_element_by_element(tmp_path: Path) -> None:
    places, x = Places(), torch.randn(512, 128)
    views = [x[:, 3:7], x[::2, 5], x[:, ::64]]
    places.add(views)
    assert all(torch.equal(got, view) for got, view in zip(fetched(places.told(), 0, tmp_path), views, strict=True))
    places = Places()
    places.add(x[:300, :100])  # its elements do not fit either
    with pytest.raises(Alien):
        fetched(places.told(), 0, tmp_path)


def test_a_lazy_negative_is_made_before_it_is_read(tmp_path: Path) -> None:
    places, x = Places(), torch.randn(4)
    places.add(torch._neg_view(x))
    assert torch.equal(fetched(places.told(), 0, tmp_path), -x)


def test_results_of_different_forms_are_an_error_of_the_candidate() -> None:
    from popcorn.worker.failure import Failed

    places = Places()
    places.add(torch.zeros(2))
    with pytest.raises(Failed):
        places.add([torch.zeros(2)])


def test_sizes_that_depend_on_values_may_differ_in_every_call() -> None:
    places = Places()
    for rows in range(1000):
        places.add(torch.zeros(rows + 1))
    assert len(places.told()["forms"]) == 1000


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"tree": {"t": 0}, "forms": [["float32", [4], [1]]], "places": [[0, 8]]},  # nothing is mapped there
        {"tree": {"t": 0}, "forms": [["float32", [4], [-1]]], "places": [[0, 8]]},
        {"tree": {"t": 0}, "forms": [["float33", [4], [1]]], "places": [[0, 8]]},
        {"tree": {"t": 0}, "forms": [["float32", [4], [1]]], "places": [[0, "8"]]},
        {"tree": {"t": 0}, "forms": [["float32", [4], [1]]], "places": [[0, 1 << 80]]},
        {"tree": {"t": 7}, "forms": [], "places": [[]]},
        {"tree": [], "forms": [], "places": [[]]},
        {"tree": {"t": 0}, "forms": [["float32", [4], [1]]], "places": [[0]]},
    ],
)
def test_whatever_a_process_says_the_reader_finds_nothing_and_no_more(told: dict, tmp_path: Path) -> None:
    with pytest.raises(Absent):
        fetched(told, 0, tmp_path)


def test_a_result_larger_than_the_room_is_described(tmp_path: Path) -> None:
    told = {"tree": {"t": 0}, "forms": [["float32", [1 << 30], [1]]], "places": [[0, 4096]]}
    with (tmp_path / "out").open("w+b") as file:
        tree, _ = fetch(os.getpid(), told, 0, file.fileno(), 4096, 0)
    assert "large" in tree


def test_a_child_can_be_read_and_pages_that_nobody_may_touch_cannot() -> None:
    code = "import ctypes; t = ctypes.create_string_buffer(b'here'); print(ctypes.addressof(t), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        address = int(child.stdout.readline())
        if not readable(child.pid):
            pytest.skip("this system lets no process read another's memory")
        assert read_memory(child.pid, address, 4) == b"here"
        child.communicate("\n")
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    page = libc.mmap(None, 4096, 0, 0x22, -1, 0)  # PROT_NONE, private, anonymous
    with pytest.raises(Absent):
        read_memory(os.getpid(), page, 4)


def test_a_result_that_lies_among_the_inputs_is_seen_by_where_the_kernel_put_their_file(tmp_path: Path) -> None:
    """In trials such a file copied, and where it was timed it returned the input itself: 68 times as fast."""
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    inputs, outputs = (
        attach(create(tmp_path / name, "buffer", 1 << 16, CPU).address, CPU, writable=name == "out") for name in ("in", "out")
    )
    given, places = mapped(os.getpid(), str(tmp_path / "in")), Places()
    assert [end - start for start, end in given] == [1 << 16]
    view = inputs.flat[4096:8192].view(torch.float32)
    for first in (torch.ones(4), view[:4]):
        places.add((first, outputs.flat[:4], torch.zeros(4)))
    places.add((torch.ones(4), outputs.flat[:4], view.view(32, 32).t()))
    assert views(places.told(), given) == {0, 2}
    with pytest.raises(Absent):
        views({"places": [[0, "x"]]}, given)


def test_a_result_that_is_handed_out_once_more_is_seen_among_those_that_are_kept() -> None:
    places, table = Places(), torch.randn(8, 4)
    for first in (0, 2):
        places.add((torch.ones(4), table[:2], torch.empty(0), table[first : first + 2]))
    assert repeated(places.told()) == {1}
    assert repeated({"places": []}) == set()
    with pytest.raises(Absent):
        repeated({"places": [[0, 1], [0, 1, 0, 2]]})


def test_sets_are_stacked_aligned_and_come_apart_without_a_copy(tmp_path: Path) -> None:
    sets = [[torch.randn(3, 5), torch.arange(7)] for _ in range(4)]
    wide = stacked(sets)
    assert wide is not None
    buffer = create(tmp_path, "in", 1 << 16, CPU)
    slots = slots_of(unpack(pack(wide, buffer), buffer, private=False))
    for (inputs, cotangents), one in zip(slots, sets, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(inputs, one, strict=True)) and not cotangents
        assert all(t.is_contiguous() and t.data_ptr() % 64 == 0 for t in inputs)


@pytest.mark.parametrize("odd", [[torch.randn(3, 5).t()], [1.0], [torch.empty(0)], {"x": torch.randn(2)}])
def test_sets_of_another_kind_are_left_as_they_are(odd: object) -> None:
    assert stacked([odd, odd]) is None  # type: ignore[list-item]
    assert stacked([[torch.randn(2)], [torch.randn(3)]]) is None
