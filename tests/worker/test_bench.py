"""What a bench leaves behind, and what it takes away of others."""

import os
import subprocess
import sys

from popcorn.worker.bench import sweep


def test_folders_of_processes_that_are_gone_are_removed_and_nothing_else(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    names = {f"popcorn-{gone.pid}-abc": False, f"popcorn-{os.getpid()}-abc": True, "popcorn-notes-abc": True, "other-1-abc": True}
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "in-1").write_bytes(b"x")
    (tmp_path / f"popcorn-{gone.pid}-file").write_text("not a folder")
    sweep(tmp_path)
    assert {name: (tmp_path / name).exists() for name in names} == names
    assert (tmp_path / f"popcorn-{gone.pid}-file").exists()
