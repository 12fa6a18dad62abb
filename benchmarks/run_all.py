"""Every benchmark of this folder, one after the other, with its default settings: `make bench`."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> int:
    """Exit code 1 when any of them fails; the rest still run."""
    failed = []
    for script in sorted(FOLDER.glob("*.py")):
        if script.name == Path(__file__).name:
            continue
        print(f"\n=== {script.name}", flush=True)
        if subprocess.run([sys.executable, script], check=False).returncode != 0:
            failed.append(script.name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
