"""Disturbances of a run, from snapshots made up and real."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from popcorn.devices.probe import probe
from popcorn.measure import steadiness
from popcorn.measure.fake import FakeClock, FakeDevice
from popcorn.measure.steadiness import WAITS, Snapshot, Watch, compare, look, waits

QUIET = Snapshot(
    0.0, throttles=frozenset(), sm_clock_hz=1.98e9, gpu_processes=frozenset({7}), load=1, cores=2, throttled_s=5.0, steal_s=3.0
)


def after(**changes):
    return replace(QUIET, time_s=10.0, **changes)


def test_a_quiet_run_is_fit():
    assert compare(QUIET, after(), own={7}).fit is True


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"throttles": frozenset({"thermal (hardware)"})}, "thermal"),
        ({"sm_clock_hz": 1.9e9}, "-4.0%"),
        ({"gpu_processes": frozenset({7, 4242})}, "1 other process"),
        ({"load": 5}, "5 threads of this machine, others' too, want 2 cores"),
        ({"throttled_s": 5.5}, "quota"),
        ({"steal_s": 4.0}, "5.0% of the processor"),
    ],
)
def test_each_disturbance_makes_the_run_unfit_and_is_named(changes, word):
    steadiness = compare(QUIET, after(**changes), own={7})
    assert steadiness.fit is False and len(steadiness.reasons) == 1 and word in steadiness.reasons[0]


def test_who_waits_for_a_device_lane_disturbs_nobody():
    others = {"gpu_processes": frozenset({7, 8, 9})}
    assert compare(QUIET, after(**others, waiting=frozenset({8, 9})), {7}).fit is True
    found = compare(QUIET, after(**others, waiting=frozenset({8})), {7})
    assert found.fit is False and found.reasons == ("1 other process(es) compute on the GPU",)
    assert compare(QUIET, after(**others, waiting=frozenset({8, 9}), hidden_processes=1), {7}).fit is False


def test_only_what_another_popcorn_keeps_waiting_waits(tmp_path):
    """A zygote of another process, with a child of that name; one of this process, whatever its name; one of another name."""
    script = tmp_path / "zygote.py"
    script.write_text(
        "import os, subprocess, sys\nfrom popcorn.worker.sandbox import call_process\n"
        "if sys.argv[1] == 'outer':\n"
        "    made = [subprocess.Popen([sys.executable, __file__, 'zygote', name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for name in sys.argv[2:]]\n"
        "    print(*[int(one.stdout.readline()) for one in made], flush=True)\n    sys.stdin.read()\n"
        "elif sys.argv[1] == 'zygote':\n"
        "    one = subprocess.Popen([sys.executable, __file__, 'child', sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "    one.stdout.readline()\n    print(one.pid, flush=True)\n    sys.stdin.read()\n"
        "else:\n    call_process(sys.argv[2])\n    print(flush=True)\n    sys.stdin.read()\n"
    )
    command = [sys.executable, str(script), "outer", WAITS, "popcorn-works"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        waiting, working = (int(pid) for pid in other.stdout.readline().split())
        assert waits(waiting) and not waits(working)
        other.stdin.close()
    mine = subprocess.Popen([sys.executable, str(script), "zygote", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with mine:
        assert not waits(int(mine.stdout.readline())), "this process knows its own, whatever they call themselves"
        mine.stdin.close()
    assert not waits(os.getpid()) and not waits(1) and not waits(2**22 + 1)


def test_hidden_processes_of_a_container_are_ours_until_there_are_too_many():
    hidden = {"gpu_processes": frozenset(), "hidden_processes": 2}
    assert compare(replace(QUIET, **hidden), after(**hidden), own={7, 8}).fit is True
    assert compare(replace(QUIET, **hidden), after(**hidden), own={7}).fit is False


def test_processes_of_ours_may_be_others_at_the_second_look():
    assert compare(QUIET, after(gpu_processes=frozenset({8})), {7}, {8}).fit is True
    assert compare(QUIET, after(gpu_processes=frozenset({8})), {7}).fit is False
    assert compare(QUIET, after(gpu_processes=frozenset({7})), {7}, {8}).fit is False


def test_a_throttle_at_the_start_counts_too():
    assert compare(replace(QUIET, throttles=frozenset({"hardware slowdown"})), after(), own={7}).fit is False


@pytest.mark.parametrize("changes", [{"sm_clock_hz": 1.95e9}, {"throttled_s": 5.05}, {"steal_s": 3.1}, {"load": 3}, {"sm_clock_hz": None}])
def test_small_changes_and_gaps_are_let_be(changes):
    assert compare(QUIET, after(**changes), own={7}).fit is True


def test_what_cannot_be_watched_is_unknown_not_fit():
    steadiness = compare(Snapshot(0.0), Snapshot(1.0))
    assert steadiness.fit is None and steadiness.reasons


def test_a_fake_device_that_throttles_is_caught_by_its_clock():
    clock = FakeClock()
    device = FakeDevice(clock, throttle_at_s=1.0)
    before = Snapshot(clock(), sm_clock_hz=device.sm_clock_hz())
    clock.sleep(2.0)
    steadiness = compare(before, Snapshot(clock(), sm_clock_hz=device.sm_clock_hz()))
    assert steadiness.fit is False and "SM clock" in steadiness.reasons[0]


def test_this_processor_can_be_looked_at():
    machine = probe("cpu")
    watching = Watch(machine)
    seen = look(machine)
    assert seen.cores >= machine.threads and seen.time_s <= time.monotonic()
    assert seen.load is None or seen.load >= 1
    assert isinstance(watching.check().reasons, tuple)


def test_cgroups_of_both_versions_are_read(tmp_path):
    for name, text in (
        ("proc/loadavg", "0.5 0.4 0.3 3/120 999\n"),
        ("proc/stat", "cpu  10 0 10 100 0 0 0 250 0 0\ncpu0 1 1\n"),
        ("proc/self/cgroup", "0::/job\n"),
        ("sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500000\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    seen = look(probe("cpu"), tmp_path)
    assert (seen.load, seen.throttled_s) == (3, 1.5) and seen.steal_s == pytest.approx(250 / os.sysconf("SC_CLK_TCK"))
    (tmp_path / "sys/fs/cgroup/cpu").mkdir()
    (tmp_path / "sys/fs/cgroup/cpu/cpu.stat").write_text("nr_throttled 1\nthrottled_time 250000000\n")
    (tmp_path / "proc/self/cgroup").write_text("2:cpu:/\n")
    assert look(probe("cpu"), tmp_path).throttled_s == 0.25


def test_another_evaluations_import_disturbs_only_where_it_works_on_the_gpu(monkeypatch):
    """By the driver's account, which a stand-in keeps: process 8 did something."""

    class Driver:
        NVMLError = RuntimeError

        def nvmlDeviceGetHandleByUUID(self, uuid):
            return uuid

        def nvmlDeviceGetProcessUtilization(self, handle, since_us):
            assert since_us > 1e15, "microseconds of the epoch"
            return [SimpleNamespace(pid=8, smUtil=40), SimpleNamespace(pid=9, smUtil=1)]

    monkeypatch.setattr(steadiness, "open_nvml", lambda: SimpleNamespace(library=Driver()))
    monkeypatch.setattr(steadiness, "look", lambda machine: replace(QUIET, gpu_processes=frozenset({7, 8, 9})))
    machine = SimpleNamespace(device_uuid="GPU-1")
    assert Watch(machine, {7, 8}, {9}).check({7, 8}, {9}).fit is True
    assert Watch(machine, {7, 8}, {9}).check().fit is True, "who stood beside at the start does so at the end"
    worked = Watch(machine, {7}, {8, 9}).check({7}, {8, 9})
    assert worked.fit is False and worked.reasons == ("1 process(es) of other evaluations worked on the GPU",)


@pytest.mark.gpu
def test_the_gpu_can_be_watched():
    machine = probe("cuda:0")
    seen = look(machine)
    assert seen.throttles is not None and seen.sm_clock_hz > 1e8
