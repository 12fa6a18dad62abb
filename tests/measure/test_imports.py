"""The parent has no torch: every instrument imports without it, those of the child too."""

import os
import subprocess
import sys

MODULES = ["activity", "counters", "energy", "fake", "launches", "memory", "roofline", "steadiness"]


def test_instruments_import_without_torch():
    code = f"import sys, importlib; [importlib.import_module('popcorn.measure.' + name) for name in {MODULES!r}]; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
