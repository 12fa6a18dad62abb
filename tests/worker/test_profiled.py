"""The process that is started early for hardware counters; its work on a GPU is in tests/gpu."""

import subprocess
import sys
from pathlib import Path

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
