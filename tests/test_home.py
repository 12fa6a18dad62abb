"""Where Popcorn keeps what it makes."""

import pwd

import pytest

from popcorn.errors import UnwritableStore
from popcorn.home import cache_folder
from popcorn.records.store import default_store


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch, tmp_path):
    def unknown(uid):
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in ("POPCORN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(UnwritableStore, match=r"the system knows no home of user \d+; set POPCORN_CACHE_DIR"):
        default_store()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "popcorn"
    monkeypatch.setenv("POPCORN_CACHE_DIR", str(tmp_path / "mine"))
    assert default_store().folder == tmp_path / "mine" / "records"
