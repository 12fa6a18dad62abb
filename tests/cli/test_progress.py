"""The progress line: for people alone."""

import threading

from popcorn.cli.progress import progress_line


def test_nothing_is_said_where_nobody_watches(capsys):
    with progress_line("a.py") as say:
        say("trial 1 of 8")
    assert capsys.readouterr() == ("", "")


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
