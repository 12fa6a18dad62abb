"""Where Popcorn keeps what it makes. Imports without torch."""

import contextlib
import os
from pathlib import Path

from popcorn.errors import UnwritableStore


def cache_folder() -> Path:
    """POPCORN_CACHE_DIR, else the platform's cache folder. Not created here.

    Raises UnwritableStore where there is none: a container may run as a user that its system does not know, without HOME.
    """
    chosen = os.environ.get("POPCORN_CACHE_DIR")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    with contextlib.suppress(RuntimeError):  # no home was found; older releases give `~` back
        folder = user_cache_path("popcorn", appauthor=False)
        if folder.is_absolute():
            return folder
    raise UnwritableStore(
        f"neither POPCORN_CACHE_DIR nor HOME is set, and the system knows no home of user {os.getuid()}; "
        "set POPCORN_CACHE_DIR to a folder that can be written."
    )
