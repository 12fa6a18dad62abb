import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.toolchain.cache import BuildCache, content_key
from popcorn.toolchain.diagnostics import CompileFailed

BUILDER = """
import sys, time
from pathlib import Path
from popcorn.toolchain.cache import BuildCache

def make(folder):
    (folder / "half").write_text("x")
    print("making", flush=True)
    time.sleep(float(sys.argv[2]))
    (folder / "whole").write_text("x")
    return {"tier": None}

entry = BuildCache(sys.argv[1]).build("k", make, "c")
print("cached" if entry.cached else "made", flush=True)
"""


def _builder(cache, seconds):
    return subprocess.Popen([sys.executable, "-c", BUILDER, str(cache.folder), str(seconds)], stdout=subprocess.PIPE, text=True)


def _make(size=1):
    def make(folder):
        (folder / "file").write_bytes(b"x" * size)
        return {"tier": "full"}

    return make


def test_the_same_key_is_built_once_and_logged_once(cache):
    first, second = cache.build("k", _make(), "c"), cache.build("k", _make(), "c")
    assert (first.cached, second.cached) == (False, True)
    assert second.folder == first.folder and (second.folder / "file").exists()
    (row,) = cache.log()
    assert (row["key"], row["language"], row["tier"], row["pid"]) == ("k", "c", "full", os.getpid())
    assert row["seconds"] >= 0


def test_two_processes_that_ask_at_once_build_once(cache):
    builders = [_builder(cache, 0.5) for _ in range(2)]
    said = sorted(builder.communicate(timeout=30)[0].split()[-1] for builder in builders)
    assert said == ["cached", "made"]
    assert len(cache.log()) == 1


def test_threads_that_ask_at_once_build_once(cache):
    made = []

    def make(folder):
        made.append(1)
        time.sleep(0.05)
        return {}

    threads = [threading.Thread(target=cache.build, args=("k", make, "c")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == len(cache.log()) == 1


def test_a_killed_builder_leaves_no_half_build_and_no_lock(cache):
    builder = _builder(cache, 60)
    assert builder.stdout.readline() == "making\n"
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    builder.stdout.close()
    assert cache.find("k") is None
    assert cache.log() == []
    assert [path.name[:2] for path in (cache.folder / "temporary").iterdir()] == ["k-"]
    entry = cache.build("k", _make(), "c")
    assert not entry.cached and not (entry.folder / "half").exists()
    assert list((cache.folder / "temporary").iterdir()) == []


def test_a_failed_build_publishes_nothing_and_is_tried_again(cache):
    def fail(folder):
        raise CompileFailed("no")

    with pytest.raises(CompileFailed):
        cache.build("k", fail, "c")
    assert cache.find("k") is None and cache.log() == []
    assert list((cache.folder / "temporary").iterdir()) == list((cache.folder / "locks").iterdir()) == []
    assert not cache.build("k", _make(), "c").cached


def test_the_least_recently_used_go_first_when_the_cap_is_passed(tmp_path):
    cache = BuildCache(tmp_path, max_bytes=3500, keep_recent_s=0)
    for age, key in ((300, "a"), (200, "b"), (100, "c")):
        folder = cache.build(key, _make(1000), "c").folder
        os.utime(folder, (time.time() - age, time.time() - age))
    assert cache.find("a") is not None  # used: b is now the oldest
    cache.build("d", _make(1000), "c")
    assert [key for key in "abcd" if cache.find(key) is None] == ["b"]


def test_what_was_just_used_is_never_evicted(tmp_path):
    cache = BuildCache(tmp_path, max_bytes=10)
    cache.build("a", _make(1000), "c")
    cache.build("b", _make(1000), "c")
    assert cache.evict() == []


def test_a_damaged_entry_is_built_anew(cache):
    (cache.build("k", _make(), "c").folder / "entry.json").write_text("{")
    assert not cache.build("k", _make(), "c").cached


def test_facts_come_back_as_they_were(cache):
    facts = {"tier": "stable", "tiers": [{"tier": "stable", "seconds": 1.5, "ok": True}]}
    cache.build("k", lambda folder: facts, "cuda")
    assert json.loads(json.dumps(facts)).items() <= cache.find("k").facts.items()


@given(
    st.dictionaries(st.text(), st.one_of(st.text(), st.lists(st.text()))),
    st.dictionaries(st.text(), st.one_of(st.text(), st.lists(st.text()))),
)
@settings(max_examples=100, deadline=None)
def test_keys_are_equal_exactly_when_contents_are(one, other):
    assert content_key(one) == content_key(dict(reversed(one.items())))
    assert (content_key(one) == content_key(other)) == (one == other)
