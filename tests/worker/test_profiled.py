"""The process that is started early for hardware counters; its work on a GPU is in tests/gpu."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import BoundedSemaphore
from types import SimpleNamespace

import pytest

from popcorn.worker import profiled
from popcorn.worker.bench import MOST_PROFILES
from tests.processes import gone


def test_it_ends_when_whoever_started_it_is_gone(tmp_path: Path) -> None:
    start = (
        f"import os, subprocess, sys; command = [sys.executable, '-m', 'popcorn.worker.profiled', {str(tmp_path)!r}, str(os.getpid())];"
        "print(subprocess.Popen(command).pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen([sys.executable, "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert not gone(pid, within_s=0.2)
    parent.kill()
    parent.wait()
    assert gone(pid, within_s=60)


def test_no_more_than_some_wait_to_be_profiled_and_the_others_start_when_their_turn_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiled, "Profile", lambda session: SimpleNamespace(watched="ncu not found", of=session))
    bench = SimpleNamespace(cuda=True, profiles=BoundedSemaphore(MOST_PROFILES))
    request = SimpleNamespace(counters=True, timing=True)
    sessions = [SimpleNamespace(bench=bench, request=request, nominal={}, profile=None) for _ in range(MOST_PROFILES + 2)]
    with ExitStack() as waiting:
        for session in sessions:
            waiting.enter_context(profiled.profile_of(session))  # type: ignore[arg-type]
        assert [session.profile is not None for session in sessions] == [True] * MOST_PROFILES + [False] * 2
    with profiled.profile_of(sessions[-1]):  # type: ignore[arg-type]
        assert sessions[-1].profile is not None
