"""The parent has no torch: every instrument imports without it, those of the child too."""

import os
import subprocess
import sys

MODULES = ["activity", "counters", "energy", "fake", "launches", "memory", "roofline", "steadiness"]


def test_instruments_import_without_torch():
    imports = "; ".join(f"import popcorn.measure.{name}" for name in MODULES)
    subprocess.run([sys.executable, "-c", f"import sys; {imports}; assert 'torch' not in sys.modules"], check=True, env=os.environ)
