"""Accounts of processes whose names are anything."""

import os
import subprocess
import sys

from popcorn.worker.census import Census, born, reaped_s

NAMED = (
    "import ctypes, sys; ctypes.CDLL(None).prctl(15, ctypes.c_char_p(bytes([0xff, 0xfe, 0x29, 0x20, 0x31])), 0, 0, 0);"
    "print('named', flush=True); sys.stdin.read()"
)
"""PR_SET_NAME with bytes that are no text, and a bracket."""


def test_a_process_whose_name_is_no_text_is_accounted_for_like_any_other():
    with subprocess.Popen([sys.executable, "-c", NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"named\n"
        census = Census(child.pid)
        assert reaped_s(child.pid) == 0.0 and census.cpu_s() >= 0 and census.faults() >= 0
        assert int(born(child.pid) or 0) >= int(born(os.getpid()) or 0) > 0
        child.kill()


def test_who_is_gone_was_never_born():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert born(child.pid) is None
