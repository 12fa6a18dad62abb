"""A compiler behind a fence: started as `python -I -S fenced.py JOB command…` it takes limits and closes the fence, then becomes the command.

A candidate's text asks a compiler to read files (`#include "/…"`, `.incbin`) and to work without end. So it sees the system's headers and libraries,
its own folder, and nothing else; it writes its own folder alone, opens no connection, and has limits of memory and of the size of a file.
JOB is JSON: `root` (where the package lies), `readable`, `writable` (paths), `memory_bytes`, `file_bytes`.
"""

import json
import os
import resource
import sys
from pathlib import Path

SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo",
    "/proc/filesystems", "/proc/sys/vm", "/sys/devices/system/cpu", "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime",
)  # fmt: skip
"""What compilers read beside their own installation. /etc and /proc as a whole are left out: passwords and other processes lie there."""


def main() -> None:
    """Never returns: this process becomes the command."""
    job, command = json.loads(sys.argv[1]), sys.argv[2:]
    sys.path.insert(0, job["root"])
    from popcorn.devices.landlock import restrict_files

    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, job["file_bytes"]), (resource.RLIMIT_AS, job["memory_bytes"])]
    for which, amount in limits:
        hard = resource.getrlimit(which)[1]
        amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(which, (amount, amount))
    readable = [Path(path) for path in (*SYSTEM, *job["readable"])]
    writable = [Path(path) for path in (*job["writable"], "/dev/null")]
    restrict_files(readable, writable, fence_tcp=True)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main()
