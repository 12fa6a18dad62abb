"""As much is read as leaves nothing in a cache, and no less."""

import pytest
import torch

from popcorn.devices.host import last_level_cache_bytes
from popcorn.measure import evicting
from popcorn.measure.evicting import Evictor

MB = 1 << 20


class FakeProbe:
    """A machine whose share of the cache is `share` bytes: what lay there is gone once as much was read."""

    share = 0

    def least_ns(self, buffer):
        return 800 if buffer.nbytes < self.share else 3000


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setattr(evicting, "SURE_BYTES", 2 * MB)
    monkeypatch.setattr(evicting, "_Probe", FakeProbe)
    return lambda share: monkeypatch.setattr(FakeProbe, "share", share)


def test_twice_as_much_is_read_as_leaves_nothing(machine):
    machine(3 * MB)
    assert Evictor(64 * MB).bytes == 8 * MB  # 4 leave nothing


def test_a_machine_that_has_the_whole_cache_reads_twice_of_it(machine):
    machine(32 * MB)
    assert Evictor(64 * MB).bytes == 64 * MB


def test_a_small_cache_is_not_asked_about(machine):
    machine(0)
    assert Evictor(2 * MB).bytes == 2 * MB


def test_a_share_that_has_grown_is_seen_and_all_is_read_from_then_on(machine):
    machine(3 * MB)
    evictor = Evictor(64 * MB)
    evictor.look()
    assert evictor.bytes == 8 * MB
    machine(20 * MB)
    evictor.look()
    assert evictor.bytes == 64 * MB


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("most_mb", [1, 8])
def test_all_of_it_is_read_once_by_one_core_or_by_two_that_share_the_cache(machine, monkeypatch, shared, most_mb):
    machine(3 * MB)
    monkeypatch.setattr(evicting, "one_last_level_cache", lambda: shared)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    read_bytes, spans = [], []
    real = torch.Tensor.sum
    monkeypatch.setattr(torch.Tensor, "sum", lambda part: (read_bytes.append(part.nbytes), spans.append(part.data_ptr()), real(part))[-1])
    Evictor(most_mb * MB).read()
    assert sum(read_bytes) == most_mb * MB and len(set(spans)) == len(read_bytes) == (2 if shared and most_mb > 2 else 1)


def test_what_lay_in_this_machines_cache_is_looked_up_more_slowly_after_reading_twice_as_much():
    told = last_level_cache_bytes() or 0
    if told < 2 * evicting._PROBE_BYTES:
        pytest.skip(f"the probe needs a last-level cache of 16 MB, here it has {told} bytes")
    probe, everything = evicting._Probe(), evicting._filled(2 * told)
    rounds = []
    while len(rounds) < 20:  # others take the cache and the core now and then: one quiet moment will do
        rounds.append((probe.least_ns(None), probe.least_ns(everything)))
        if rounds[-1][1] > 1.5 * rounds[-1][0]:
            return
    raise AssertionError(f"no slower in any of 20 rounds: {rounds}")
