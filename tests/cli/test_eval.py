"""`popcorn eval` as people and programs call it. Whole evaluations are few here: each takes seconds."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from popcorn.errors import BadCandidate, MissingFile
from popcorn.reading import read_kernel
from popcorn.records.store import Store
from popcorn.schema.record import Record
from tests.cli.command import CANDIDATE, COMMAND, PROBLEM, assert_one_sentence, environment, popcorn
from tests.made_records import keep_ceilings


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A problem, candidates, and a cache that the module shares."""
    folder = tmp_path_factory.mktemp("eval")
    keep_ceilings(folder / "cache")
    (folder / "problem.py").write_text(PROBLEM)
    (folder / "good.py").write_text(CANDIDATE)
    return folder


def evaluate(place, text: str | bytes, *options: object, name: str = "candidate.py"):
    file = place / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return popcorn("eval", place / "problem.py", file, "--device", "cpu", *options, cache=place / "cache")


def stored(place) -> list[Record]:
    return Store(place / "cache" / "records").find()


@pytest.mark.parametrize(
    ("text", "name", "code", "words"),
    [
        ("", "empty.py", 63, "is empty"),
        ("   \n\t", "blank.c", 63, "is empty"),
        (b"\x7fELF\x00\xff\xfe", "binary.py", 63, "is not text"),
        ("# " + "x" * 2_100_000, "large.py", 63, "a kernel text may have 2,000,000"),
        (CANDIDATE, "kernel.rs", 63, "the extension .rs is not one of a kernel file"),
        (CANDIDATE, "noextension", 63, "(none)"),
    ],
)
def test_a_file_that_cannot_be_a_candidate_is_told_in_one_sentence(place, text, name, code, words):
    before = len(stored(place))
    assert_one_sentence(evaluate(place, text, name=name), code, name, words)
    assert len(stored(place)) == before


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--device", "cuda:77"], 62, ("cuda:77", "cpu")),
        (["--device", "tpu"], 62, ("tpu", "cpu")),
        (["--language", "rust"], 63, ("'rust' is not a language; choose one of torch, triton",)),
        (["--language", "cuda"], 63, ("is written in torch, not in cuda: leave the language out",)),
    ],
)
def test_a_wish_that_cannot_be_met_is_told_in_one_sentence(place, options, code, words):
    assert_one_sentence(evaluate(place, CANDIDATE, *options), code, *words)


def test_missing_files_and_unknown_problems_are_told_in_one_sentence(place):
    cache = place / "cache"
    assert_one_sentence(
        popcorn("eval", place / "problem.py", "none.py", cache=cache), 60, "none.py does not exist; give the path of a kernel file"
    )
    assert_one_sentence(popcorn("eval", place / "problem.py", place, cache=cache), 60, "is not a file")
    assert_one_sentence(popcorn("eval", place / "none.py", place / "good.py", cache=cache), 60, "none.py does not exist")
    assert_one_sentence(popcorn("eval", "popcorn/L1/290", place / "good.py", cache=cache), 61, "popcorn/L1/29", "popcorn problems list")
    (place / "noproblem.py").write_text("x = 1\n")
    assert_one_sentence(popcorn("eval", place / "noproblem.py", place / "good.py", cache=cache), 64, "noproblem.py")


def test_a_cache_that_cannot_be_written_is_told_before_anything_runs(place):
    (place / "blocked").write_text("a file")
    started = time.monotonic()
    done = popcorn("eval", place / "problem.py", place / "good.py", cache=place / "blocked")
    assert_one_sentence(done, 67, "POPCORN_CACHE_DIR")
    assert time.monotonic() - started < 60


def test_unreadable_files_are_refused(place, monkeypatch):
    with pytest.raises(MissingFile, match="does not exist"):
        read_kernel(Path("/nowhere/at/all.py"))
    with pytest.raises(BadCandidate, match="not text"):
        (place / "bytes.py").write_bytes(b"\xff\xfe\x00")
        read_kernel(place / "bytes.py")


@pytest.mark.parametrize(
    ("text", "code", "outcome", "words"),
    [
        ("def f(:\n", 30, "compile_error", "line 1: invalid syntax"),
        ("import torch\n", 30, "compile_error", "it does not define the class ModelNew"),
    ],
)
def test_a_text_that_keeps_no_contract_is_a_record_with_the_next_step(place, text, code, outcome, words):
    done = evaluate(place, text)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert words in " ".join(done.stdout.split()) and "next " in done.stdout
    assert stored(place)[0].verdict.outcome == outcome


def test_a_wrong_arity_is_a_record_that_can_be_run_again(place):
    done = evaluate(place, CANDIDATE.replace("self, x", "self, x, y"))
    assert done.returncode == 31, done.stderr
    assert "missing 1 required positional argument: 'y'" in " ".join(done.stdout.split())
    assert "forward takes the inputs of get_inputs()" in " ".join(done.stdout.split())
    old = stored(place)[0]
    again = popcorn("rerun", old.id[:8], cache=place / "cache")
    assert again.returncode == 31, again.stderr
    new = stored(place)[0]
    assert new.id != old.id and new.provenance.seed == old.provenance.seed
    assert (new.subject, new.case, new.verdict) == (old.subject, old.case, old.verdict)
    assert old.id in again.stdout and new.id in again.stdout
    assert "DIFFERENT" not in again.stdout
    (place / "problem.py").write_text(PROBLEM.replace("x * x", "x * x + 0"))
    try:
        assert_one_sentence(popcorn("rerun", old.id, cache=place / "cache"), 64, "results of different texts never mix")
    finally:
        (place / "problem.py").write_text(PROBLEM)


ASKED = ("--json", "--budget", "0.5", "--no-compile", "--no-counters", "--known")


@pytest.fixture(scope="module")
def whole(place):
    """A whole evaluation, which takes longer than all else here: `--known` of a text that nobody has asked about."""
    return evaluate(place, CANDIDATE, *ASKED)


def test_a_correct_candidate_is_one_json_object_on_stdout_with_exit_code_0(place, whole):
    assert whole.returncode == 0, whole.stdout + whole.stderr
    record = Record.model_validate(json.loads(whole.stdout))
    assert record in stored(place)
    assert record.verdict.outcome == "correct" and record.verdict.trials_passed >= 5
    assert record.measurement.timing is not None and record.measurement.timing.compiled_reason
    assert record.subject.source == CANDIDATE and record.subject.language == "torch"
    assert all(re.match(r" *\d+ s  candidate.py ", line) for line in whole.stderr.splitlines()), "progress and nothing else"


def test_what_was_judged_before_is_told_from_its_record_where_that_is_asked_for(place, whole):
    before = len(stored(place))
    again, other = evaluate(place, CANDIDATE, *ASKED), evaluate(place, CANDIDATE.replace("x * x", "x + x"), *ASKED)
    assert json.loads(again.stdout)["id"] == json.loads(whole.stdout)["id"] != json.loads(other.stdout)["id"]
    assert "judged at" in again.stderr and "judged at" not in whole.stderr + other.stderr
    assert len(stored(place)) == before + 1


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_ends_every_process(place, how, code):
    (place / "endless.py").write_text(CANDIDATE.replace("return", "import time; time.sleep(1000); return"))
    command = [*COMMAND, "eval", str(place / "problem.py"), str(place / "endless.py"), "--device", "cpu"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(place / "cache"), cwd=place,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background of a shell inherit that it is ignored
    )  # fmt: skip
    deadline = time.monotonic() + 60
    descendants: list[psutil.Process] = []
    while len(descendants) < 3 and time.monotonic() < deadline:  # the zygote, the oracle, the candidate
        time.sleep(0.1)
        descendants = psutil.Process(running.pid).children(recursive=True)
    assert len(descendants) >= 3
    time.sleep(0.5)
    started = time.monotonic()
    os.kill(running.pid, how)
    out, err = running.communicate(timeout=60)
    assert running.returncode == code
    assert "Traceback" not in out + err
    assert time.monotonic() - started < 60
    _, alive = psutil.wait_procs(descendants, timeout=30)
    assert alive == []
    if how == signal.SIGINT:
        assert err.splitlines()[-1].startswith("popcorn: stopped;")


def test_a_text_saved_with_a_byte_order_mark_is_the_text(tmp_path):
    (tmp_path / 'it\'s a "kernel".py').write_bytes(b"\xef\xbb\xbfimport torch\r\n")
    assert read_kernel(tmp_path / 'it\'s a "kernel".py') == "import torch\n"
