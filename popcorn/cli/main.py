"""`popcorn`: the commands by name. Each lives in a module that is imported when it is called, so that `popcorn --help` is quick."""

import difflib
import errno
import importlib
import os
import signal
import sys
import threading
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from popcorn import __version__
from popcorn.cli.output import open_missing_streams, why_unwritten
from popcorn.errors import HarnessFailure, PopcornError


class Command(NamedTuple):
    """Where a command is, and its line in the help."""

    module: str
    name: str
    summary: str


COMMANDS = {
    "eval": Command("popcorn.cli.eval", "evaluate_file", "Judge a kernel file, measure it, and print its card."),
    "agent": Command("popcorn.cli.agent", "agent", "Let a model write a kernel with tools, and judge it."),
    "search": Command("popcorn.cli.search", "app", "Evolve kernels: `search PROBLEM` runs one."),
    "adopt": Command("popcorn.cli.adopt", "adopt_run", "Make a kernel that was found an implementation of an op."),
    "mcp": Command("popcorn.cli.mcp", "serve_mcp", "Offer the agents' tools to a coding agent, over MCP."),
    "demo": Command("popcorn.cli.demo", "demo", "Judge honest kernels and two cheats on this machine."),
    "audit": Command("popcorn.cli.audit", "audit", "Cheats must be caught, honest kernels must pass."),
    "check": Command("popcorn.cli.check", "check", "What a candidate's text shows before it runs."),
    "judge": Command("popcorn.cli.judge", "judge_record", "Say that a record is suspected, cleared or condemned."),
    "rerun": Command("popcorn.cli.rerun", "rerun", "Run a recorded evaluation again, side by side."),
    "problems": Command("popcorn.cli.problems", "app", "The problems: list, show, check, import."),
    "ranks": Command("popcorn.cli.ranks", "run_ranks_command", "Judge and time a kernel that communicates."),
    "ops": Command("popcorn.cli.ops", "show_ops", "The library's ops: see them, explain a choice, begin one."),
    "bench": Command("popcorn.cli.bench", "app", "Measure the library's ops; view, compare, merge what is known."),
    "sweep": Command("popcorn.cli.sweep", "app", "Sweeps: agents over problems, implementations over cases."),
    "campaign": Command("popcorn.cli.campaign", "app", "Sweeps one after the other, detached, under a time budget."),
    "serve": Command("popcorn.cli.serve", "serve", "Judge kernels over HTTP: submit, poll or stream, batch."),
    "site": Command("popcorn.cli.site", "app", "The pages of every result: build, serve, publish them."),
    "figures": Command("popcorn.cli.figures", "figures", "The ten figures as SVG and PNG, with their tables."),
    "doctor": Command("popcorn.cli.doctor", "doctor", "What this machine is, what works on it, what does not."),
}

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells count it."""


class LazyGroup(TyperGroup):
    """A group that imports a command's module when the command is called, and not for the list in the help."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Names, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, or for the list its name and summary alone; None when there is none."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if self._listing:
            return TyperCommand(name=cmd_name, help=entry.summary, rich_markup_mode=None)
        thing = getattr(importlib.import_module(entry.module), entry.name)
        if not isinstance(thing, typer.Typer):
            wrapped = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            wrapped.command(cmd_name)(thing)
            thing = wrapped
        command = typer.main.get_command(thing)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the words name; of a name that is none the nearest one is told."""
        near = difflib.get_close_matches(args[0], COMMANDS, n=1) if args and args[0] not in COMMANDS else []
        if near:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, made without importing any command."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a mistake that the user can mend ends in one sentence, never in a traceback."""
        try:
            return super().invoke(ctx)
        except PopcornError as error:
            end_with(str(error), error.exit_code)
        except HarnessFailure as failure:
            end_with(f"a fault of Popcorn's own: {failure}", 50)
        except BrokenPipeError:
            raise  # whoever read our output has heard enough: click ends quietly
        except OSError as error:
            if error.filename is None and (unwritten := why_unwritten(failed=True)) is not None:
                end_with(f"{unwritten} What was recorded is kept.", 67)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                end_with(
                    f"the disk is full ({error.strerror}); free some, or set POPCORN_CACHE_DIR to a folder on another one. What was recorded is kept.",
                    67,
                )
            if error.filename is None:
                raise
            end_with(
                f"{error.filename}: {error.strerror}; give another path, or set POPCORN_CACHE_DIR to a folder that can be written.", 67
            )
        except KeyboardInterrupt:
            end_with("stopped; every process it started has ended, and what was recorded is kept.", INTERRUPTED)


app = typer.Typer(
    cls=LazyGroup, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True,
    help="Popcorn judges GPU kernels: is this kernel right, and how good is it, on this machine?",
)  # fmt: skip


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"popcorn {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Popcorn judges GPU kernels: is this kernel right, and how good is it, on this machine?"""


def end_with(sentence: str, code: int) -> NoReturn:
    """One plain sentence on stderr, then the exit code."""
    from popcorn.cli.plain import plain

    print(f"popcorn: {plain(sentence, 2000)}", file=sys.stderr)
    raise SystemExit(code)


def run() -> None:
    """The entry point. Ctrl-C and a polite kill unwind through every `with`, so that no child process outlives this one."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    open_missing_streams()
    try:
        app(prog_name="popcorn")
    except OSError as error:  # the help and the version, which are no command's
        end_with(why_unwritten(failed=True) or str(error), 67)
    finally:
        ended = sys.exc_info()[1]
        code = getattr(ended, "code", 0)
        if (unwritten := why_unwritten()) is not None and code in (0, None):
            end_with(unwritten, 67)
        waiting = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
        if code in (INTERRUPTED, 128 + signal.SIGTERM) and waiting:  # for a provider's answer: minutes, and each asks again
            sys.stderr.flush()
            os._exit(code)


if __name__ == "__main__":
    run()
