"""Which files a process and its descendants may open, asked of the Linux kernel without being root. Free of torch; a process that is about to run
somebody's text calls `restrict_files` for itself, and nothing opens the fence again.
"""

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

# include/uapi/linux/landlock.h
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_EXECUTE, _WRITE, _READ, _READ_DIR = 1, 2, 4, 8
_REST = 0x1FF0  # remove, make, …
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_UNIX, _SCOPE_SIGNAL = 1, 2


def landlock_abi() -> int:
    """Version of Landlock that the kernel speaks; 0 when it has none."""
    return max(0, _libc.syscall(_CREATE, None, 0, 1))


def restrict_files(readable: Iterable[Path], writable: Iterable[Path], filled: Iterable[Path] = (), fence_tcp: bool = False) -> bool:
    """Fences this process: `readable` may be read and run, `writable` everything, in `filled` files that are there may be written.

    With `fence_tcp` no TCP connection either, where the kernel can (version 4). False where it has no Landlock; nothing is fenced then.
    """
    abi = landlock_abi()
    if abi < 1:
        return False
    handled = _EXECUTE | _WRITE | _READ | _READ_DIR | _REST
    handled |= (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    tcp = _BIND_TCP | _CONNECT_TCP if fence_tcp else 0
    scoped = _SCOPE_ABSTRACT_UNIX | _SCOPE_SIGNAL if abi >= 6 else 0
    attributes = struct.pack("<QQQ", handled, tcp, scoped)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = _libc.syscall(_CREATE, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    granted = ((readable, _EXECUTE | _READ | _READ_DIR), (writable, handled), (filled, _READ | _WRITE | _READ_DIR))
    for paths, rights in granted:
        for path in paths:
            with contextlib.suppress(OSError):
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
                # a file takes only the rights that make sense for a file
                allowed = rights if path.is_dir() else rights & (_EXECUTE | _WRITE | _READ | (_TRUNCATE if abi >= 3 else 0))
                _libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("<Qi", allowed & handled, handle), 0)
                os.close(handle)
    _libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, which the kernel asks for first
    restricted = _libc.syscall(_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return restricted
