"""multiprocessing's locks for a process that may make no named semaphore: unnamed ones, in memory shared with the processes it forks.

Thread pools of `multiprocessing.pool`, queues, events and pools of forked processes are built on `_multiprocessing.SemLock`, which asks the system for a
name in a folder that every process of the user shares. What lies there would outlive its maker, so a candidate may not. Linux; free of torch.
"""

import _multiprocessing
import ctypes
import errno
import mmap
import threading
import time
from typing import Any

_RECURSIVE, _LARGEST, _SIZE = 0, 2**31 - 1, 32
_libc = ctypes.CDLL(None, use_errno=True)


class _Moment(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class UnnamedLock:
    """As `_multiprocessing.SemLock`, by sem_init. It cannot be sent to a process that was not forked from its maker."""

    SEM_VALUE_MAX = _LARGEST

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool):
        self.kind, self.maxvalue, self.name = kind, maxvalue, None
        self._memory = mmap.mmap(-1, _SIZE)  # shared with every process forked from here on
        self.handle = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._semaphore = ctypes.c_void_p(self.handle)
        self._held, self._owner = 0, 0
        if _libc.sem_init(self._semaphore, 1, ctypes.c_uint(value)) != 0:
            raise OSError(ctypes.get_errno(), "no semaphore")

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """As `threading.Lock.acquire`; other threads run while it waits."""
        if self.kind == _RECURSIVE and self._is_mine():
            self._held += 1
            return True
        if not self._wait(block, timeout):
            return False
        self._held, self._owner = self._held + 1, threading.get_ident()
        return True

    def release(self) -> None:
        """Raises AssertionError where a recursive lock is not the caller's, ValueError where a semaphore would pass its largest value."""
        if self.kind == _RECURSIVE:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        elif self._get_value() >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._held -= 1
        _libc.sem_post(self._semaphore)

    def _wait(self, block: bool, timeout: float | None) -> bool:
        moment = None
        if block and timeout is not None:
            whole, part = divmod(time.time() + max(0.0, timeout), 1)
            moment = _Moment(int(whole), int(part * 1e9))
        while True:
            if not block:
                code = _libc.sem_trywait(self._semaphore)
            elif moment is None:
                code = _libc.sem_wait(self._semaphore)
            else:
                code = _libc.sem_timedwait(self._semaphore, ctypes.byref(moment))
            if code == 0:
                return True
            if ctypes.get_errno() != errno.EINTR:
                return False

    def _get_value(self) -> int:
        value = ctypes.c_int()
        _libc.sem_getvalue(self._semaphore, ctypes.byref(value))
        return value.value

    def _count(self) -> int:
        return self._held

    def _is_mine(self) -> bool:
        return self._held > 0 and self._owner == threading.get_ident()

    def _is_zero(self) -> bool:
        return self._get_value() == 0

    def _after_fork(self) -> None:
        self._held = 0

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()


def give_locks() -> None:
    """From now on multiprocessing takes these in this process."""
    _multiprocessing.SemLock = UnnamedLock
