"""The command as a whole: quick to start, mistakes in one sentence, nothing left behind."""

import errno
import os
import subprocess
import sys

import pytest

from popcorn import __version__
from popcorn import errors as popcorn_errors
from popcorn.cli.main import COMMANDS, app
from popcorn.errors import PopcornError
from popcorn.schema.verdict import EXIT_CODES
from tests.cli.command import CANDIDATE, COMMAND, ROOT, assert_one_sentence, environment, popcorn
from tests.made_records import make_record


def test_help_lists_every_command(tmp_path):
    done = popcorn("--help", cache=tmp_path)
    assert done.returncode == 0
    for name, command in COMMANDS.items():
        assert f"  {name} " in done.stdout and command.summary in done.stdout


def test_help_imports_neither_torch_nor_the_commands(tmp_path):
    code = (
        "import sys; sys.argv = ['popcorn', '--help']\nfrom popcorn.cli.main import run\n"
        "try: run()\nexcept SystemExit: pass\n"
        "print(sorted({'torch', 'pydantic', 'duckdb', 'numpy', 'popcorn.cli.eval', 'popcorn.worker'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(tmp_path), cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_whose_first_line_is_its_summary(name, tmp_path):
    done = popcorn(name, "--help", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    if name not in ("problems", "doctor"):
        assert COMMANDS[name].summary in done.stdout


def test_the_version_is_shown(tmp_path):
    assert popcorn("--version", cache=tmp_path).stdout == f"popcorn {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nope"], ["eval"], ["eval", "a", "b", "--budget", "0"], ["eval", "a", "b", "--precision", "fp7"], ["--nope"]]
)
def test_a_mistake_in_the_command_line_exits_with_2_and_no_traceback(arguments, tmp_path):
    done = popcorn(*arguments, cache=tmp_path)
    assert done.returncode == 2
    assert "Error: " in done.stderr and "Traceback" not in done.stderr


def test_every_kind_of_mistake_and_every_outcome_has_an_exit_code_of_its_own():
    kinds = [
        one for one in vars(popcorn_errors).values() if isinstance(one, type) and issubclass(one, PopcornError) and one is not PopcornError
    ]
    codes = [kind.exit_code for kind in kinds] + list(EXIT_CODES.values())
    assert len(set(codes)) == len(codes)
    assert 1 not in codes and 2 not in codes and max(codes) < 126


def test_an_unknown_record_is_answered_with_the_next_step(tmp_path):
    assert_one_sentence(popcorn("rerun", "feed", cache=tmp_path), 65, "no record is called 'feed'", "popcorn eval PROBLEM FILE")


def test_a_closed_pipe_is_no_error(tmp_path):
    done = subprocess.run(
        f"{' '.join(COMMAND)} problems list | head -1",
        shell=True,
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        cwd=ROOT,
        check=True,
    )
    assert "Traceback" not in done.stderr


def test_a_cache_that_is_a_file_ends_in_one_sentence(tmp_path):
    (tmp_path / "cache").write_text("")
    assert_one_sentence(popcorn("bench", "view", cache=tmp_path / "cache"), 67, "Not a directory", "POPCORN_CACHE_DIR")


@pytest.mark.parametrize("arguments", ["--version", "--help", "problems list --level 1"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_cannot_be_written_is_one_sentence_that_names_it(arguments, unbuffered, tmp_path):
    there = {**environment(tmp_path), "PYTHONUNBUFFERED": unbuffered}
    told = f"{' '.join(COMMAND)} {arguments} > /dev/full"
    done = subprocess.run(told, shell=True, capture_output=True, text=True, env=there, cwd=ROOT, check=False)
    assert_one_sentence(done, 67, "standard output cannot be written")
    assert "POPCORN_CACHE_DIR" not in done.stderr


def test_a_closed_output_is_no_error_and_no_file_that_is_opened_gets_what_is_printed(tmp_path):
    told = f"{' '.join(COMMAND)} problems list --level 1 >&-"
    done = subprocess.run(told, shell=True, capture_output=True, text=True, env=environment(tmp_path), cwd=ROOT, check=False)
    assert done.returncode == 0 and done.stderr == ""


def test_a_command_that_is_nearly_spelled_is_told_the_right_one(tmp_path):
    assert "Did you mean 'eval'?" in popcorn("evl", cache=tmp_path).stderr


def test_an_answer_that_cannot_be_kept_is_shown_all_the_same(tmp_path, monkeypatch, capsys):
    from popcorn.errors import UnwritableStore

    def full(request):
        error = UnwritableStore("the disk is full")
        error.record = make_record()
        raise error

    (tmp_path / "kernel.py").write_text(CANDIDATE)
    monkeypatch.setattr("popcorn.cli.eval.judge", full)
    with pytest.raises(SystemExit) as ended:
        app(["eval", "original/L1/23", str(tmp_path / "kernel.py")], standalone_mode=False)
    told = capsys.readouterr()
    assert ended.value.code == 67 and make_record().id in told.out and "the disk is full" in told.err


def test_a_full_disk_ends_in_one_sentence(monkeypatch, capsys):
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("popcorn.cli.doctor.doctor", full)
    with pytest.raises(SystemExit) as ended:
        app(["doctor"], standalone_mode=False)
    assert ended.value.code == 67 and "the disk is full" in capsys.readouterr().err


def test_a_terminal_of_ascii_shows_what_it_can(tmp_path):
    told = [*COMMAND, "problems", "list", "--level", "1"]
    done = subprocess.run(told, capture_output=True, env={**environment(tmp_path), "PYTHONIOENCODING": "ascii"}, cwd=ROOT, check=False)
    assert done.returncode == 0 and b"Traceback" not in done.stderr and done.stdout.isascii() and b"11?21" in done.stdout


def test_hostile_arguments_are_shown_escaped(tmp_path):
    done = popcorn("eval", "\x1b[31mred\x1b[0m\n[bold]", "x.py", cache=tmp_path)
    assert_one_sentence(done, 61, r"\x1b[31mred")


def test_the_command_is_the_one_that_the_package_installs():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["popcorn"] == "popcorn.cli.main:run"
    assert os.access(ROOT / "popcorn" / "cli" / "main.py", os.R_OK)


def test_who_stops_it_does_not_wait_for_a_thread_that_waits_for_a_provider(tmp_path):
    lines = (
        "import sys, threading, time\nfrom popcorn.cli import main\n"
        "main.app = lambda **_: (threading.Thread(target=time.sleep, args=(1000,)).start(), sys.exit(main.INTERRUPTED))\nmain.run()"
    )
    done = subprocess.run([sys.executable, "-c", lines], cwd=ROOT, env=environment(tmp_path), timeout=60)
    assert done.returncode == 130
