"""Publishing with real git: an orphan branch, other files left alone, somebody else's commits kept, nothing forced."""

import subprocess

import pytest

from popcorn.errors import MissingFile, UnwritableStore
from popcorn.records.store import Store
from popcorn.site.build import Built, build
from popcorn.site.gather import Source
from popcorn.site.publish import publish, watch
from tests.site.made_store import evaluation


def git(folder, *arguments) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def home(tmp_path):
    """A remote, a clone of it with a commit on main, and a built site."""
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
    git(tmp_path, "clone", "--quiet", "remote.git", "clone")
    (tmp_path / "clone" / "README.md").write_text("main")
    git(tmp_path / "clone", "add", ".")
    git(tmp_path / "clone", "commit", "--quiet", "-m", "one")
    git(tmp_path / "clone", "push", "--quiet", "origin", "HEAD:main")
    rebuild(tmp_path, 1)
    return tmp_path


def rebuild(home, day: int) -> Built:
    store = Store(home / "records")
    store.append(evaluation(f"popcorn/L1/{day}", "timeout", day))
    return build([Source("mine", store)], home / "site")


def files(home, branch="gh-pages") -> set[str]:
    return set(git(home / "remote.git", "ls-tree", "-r", "--name-only", branch).splitlines())


def test_a_branch_is_made_and_moves_forward_and_the_clone_is_left_as_it_was(home):
    first = publish(home / "site", home / "clone")
    assert first.commit and first.pushed and {"index.html", "static/page.css", ".nojekyll"} <= files(home)
    assert "README.md" not in files(home), "the branch has the site alone"
    assert publish(home / "site", home / "clone").commit is None
    rebuild(home, 2)
    second = publish(home / "site", home / "clone")
    assert 0 < second.changed < first.changed
    assert git(home / "remote.git", "rev-list", "--count", "gh-pages") == "3"
    assert git(home / "clone", "status", "--porcelain") == "" and git(home / "clone", "branch", "--show-current") in ("main", "master")
    assert git(home / "clone", "worktree", "list").count("\n") == 0


def test_other_files_of_the_branch_stay_and_pages_that_are_gone_go(home):
    publish(home / "site", home / "clone")
    git(home, "clone", "--quiet", "--branch", "gh-pages", "remote.git", "other")
    (home / "other" / "CNAME").write_text("example.org")
    git(home / "other", "add", ".")
    git(home / "other", "commit", "--quiet", "-m", "a name")
    git(home / "other", "push", "--quiet")
    before = files(home)
    build([Source("mine", Store(home / "nothing"))], home / "site")
    publish(home / "site", home / "clone")
    assert "CNAME" in files(home) and any(name.startswith("records/") for name in before)
    assert not any(name.startswith("records/") for name in files(home))


def test_whoever_pushes_meanwhile_keeps_their_commit(home, monkeypatch):
    from popcorn.site import publish as module

    publish(home / "site", home / "clone")
    rebuild(home, 2)
    real, done = module._git, []

    def race(folder, *arguments, **options):
        if arguments[0] == "push" and not done:
            done.append(True)
            git(home, "clone", "--quiet", "--branch", "gh-pages", "remote.git", "rival")
            (home / "rival" / "rival.txt").write_text("first")
            git(home / "rival", "add", ".")
            git(home / "rival", "commit", "--quiet", "-m", "rival")
            git(home / "rival", "push", "--quiet")
        return real(folder, *arguments, **options)

    monkeypatch.setattr(module, "_git", race)
    assert publish(home / "site", home / "clone").pushed
    assert {"rival.txt", "problems.html"} <= files(home)
    assert "rival" in git(home / "remote.git", "log", "--format=%s", "gh-pages")


def test_a_push_that_is_refused_tells_what_git_said(home):
    hook = home / "remote.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'pages are closed today' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(UnwritableStore, match="pages are closed today"):
        publish(home / "site", home / "clone")
    hook.unlink()
    publish(home / "site", home / "clone")
    rebuild(home, 2)
    hook.write_text("#!/bin/sh\necho 'closed again' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(UnwritableStore, match="closed again"):
        publish(home / "site", home / "clone")


def test_a_folder_of_a_branch_and_a_repository_without_remote(home):
    result = publish(home / "site", home / "clone", branch="pages", folder="results", remote=None)
    assert result.commit and not result.pushed
    assert "results/index.html" in git(home / "clone", "ls-tree", "-r", "--name-only", "pages").splitlines()


def test_watching_publishes_what_changes_and_survives_a_round_that_fails(home):
    days = iter((2, 3))
    said: list[str] = []
    commits = watch(home / "site", home / "clone", 0.01, lambda: rebuild(home, next(days)), rounds=2, said=said.append)
    assert commits == 2 and len(said) == 2 and all("pushed" in one for one in said)
    git(home / "clone", "remote", "set-url", "origin", str(home / "nowhere.git"))
    failed = watch(home / "site", home / "clone", 0.01, lambda: rebuild(home, 9), rounds=1, said=said.append)
    assert failed == 0 and said[-1].startswith("not published this time")


def test_what_is_missing_is_said(home):
    with pytest.raises(MissingFile, match="is no site"):
        publish(home / "records", home / "clone")
    with pytest.raises(MissingFile, match="no git repository"):
        publish(home / "site", home / "records")
