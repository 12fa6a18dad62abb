"""As much is read as leaves nothing in a cache, and no less."""

import pytest

from popcorn.devices.host import last_level_cache_bytes
from popcorn.measure import evicting
from popcorn.measure.evicting import Evictor

MB = 1 << 20


class FakeProbe:
    """A machine whose share of the cache is `share` bytes: what lay there is gone once as much was read."""

    share = 0

    def share_of(self, some, more):
        return self.time_after(some) / self.time_after(more)

    def survives(self, buffer):
        return self.time_after(buffer) == 1

    def time_after(self, buffer):
        return 1 if buffer.nbytes < self.share else 5


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


def test_what_an_evictor_has_read_over_takes_longer_to_look_up_on_this_machine_than_what_nobody_touched():
    told = last_level_cache_bytes() or 0
    if told < 2 * evicting._PROBE_BYTES:
        pytest.skip(f"the probe needs a last-level cache of 16 MB, here it has {told} bytes")
    evictor, probe = Evictor(2 * told), evicting._Probe()

    def least_ns(buffer):
        return min(probe._after(buffer) for _ in range(20))  # others only take the cache, and time, away

    assert any(least_ns(evictor._buffer) > evicting._THERE * least_ns(None) for _ in range(5)), "reading leaves as much as not reading"
