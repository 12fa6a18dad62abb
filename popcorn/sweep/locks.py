"""Locks of jobs under way, in the cache that sweeps share: two sweeps that ask the same do it once. A lock ends with its process, however that ends.

<cache>/jobs/locks/<job>      locked by flock while the job is under way, and removed behind it
"""

import errno
import fcntl
import os
from pathlib import Path


class Locks:
    """Those that this process holds."""

    def __init__(self, cache: Path):
        self.folder = cache / "jobs" / "locks"
        self._held: dict[str, int] = {}

    def take(self, job: str) -> bool:
        """False while another process has the job under way."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / job
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(handle), path.stat()):
                    self._held[job] = handle
                    return True
            except FileNotFoundError:  # whoever had it removed it between our opening and our lock
                pass
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP):  # a disk without locks: what was always done there
                    os.close(handle)
                    if error.errno == errno.EWOULDBLOCK:
                        return False
                    raise
                self._held[job] = handle
                return True
            os.close(handle)

    def let_go(self, job: str) -> None:
        """It is no longer under way here."""
        handle = self._held.pop(job, None)
        if handle is not None:
            (self.folder / job).unlink(missing_ok=True)
            os.close(handle)
