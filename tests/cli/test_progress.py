"""Progress: a line that moves for a person, a line every few seconds for a log."""

import threading

from popcorn.cli import progress
from popcorn.cli.progress import progress_line


def test_a_log_gets_the_first_message_and_then_one_every_few_seconds(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress_line("a.py") as say:
        for seconds, message in ((0, "trial 1 of 8"), (1, "trial 2 of 8"), (6, "round 1"), (7, "round 2"), (12, "round 3")):
            now[0] = 100.0 + seconds
            say(message)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split() for line in err.splitlines()] == [
        ["0", "s", "a.py", "trial", "1", "of", "8"], ["6", "s", "a.py", "round", "1"], ["12", "s", "a.py", "round", "3"],
    ]  # fmt: skip


def test_a_terminal_shows_what_is_done_now_on_stderr_from_any_thread(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "90")
    with progress_line("a.py") as say:
        thread = threading.Thread(target=say, args=("trial \x1b[7m [red]1[/] of 8",))
        thread.start()
        thread.join()
    out, err = capsys.readouterr()
    assert out == ""
    assert r"a.py trial \x1b[7m [red]1[/] of 8" in err
    assert "\x1b[7m" not in err
