"""The command as a whole: quick to start, mistakes in one sentence, nothing left behind."""

import os
import subprocess
import sys

import pytest

from popcorn import __version__
from popcorn import errors as popcorn_errors
from popcorn.cli.main import COMMANDS
from popcorn.errors import PopcornError
from popcorn.schema.verdict import EXIT_CODES
from tests.cli.command import COMMAND, ROOT, assert_one_sentence, environment, popcorn


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
