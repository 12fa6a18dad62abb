"""Remove a folder in which somebody else's code could make what it liked. Free of torch.

`shutil.rmtree` goes down by calling itself and ends at a thousand levels with an error of its own; no path to them is short enough for the
kernel either. Here each folder is moved to the top before it is emptied, so nothing is ever deep.
"""

import contextlib
import os
import stat
from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Everything in `folder` and the folder itself, as far as the kernel allows it; links are removed and not followed. Raises nothing."""
    with contextlib.suppress(OSError):
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            moved = 0
            waiting = _empty(top)
            while waiting:
                name = waiting.pop()
                with contextlib.suppress(OSError):
                    os.chmod(name, 0o700, dir_fd=top)
                    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                    try:
                        for each in _empty(inner):
                            moved += 1
                            higher = f"{os.getpid()}-{moved}-{os.urandom(4).hex()}"
                            os.chmod(each, 0o700, dir_fd=inner)
                            os.rename(each, higher, src_dir_fd=inner, dst_dir_fd=top)
                            waiting.append(higher)
                    finally:
                        os.close(inner)
                    os.rmdir(name, dir_fd=top)
        finally:
            os.close(top)
        folder.rmdir()


def _empty(handle: int) -> list[str]:
    """Removes every file of an open folder; the names of the folders in it."""
    folders = []
    for name in os.listdir(handle):
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                folders.append(name)
            else:
                os.unlink(name, dir_fd=handle)
    return folders
