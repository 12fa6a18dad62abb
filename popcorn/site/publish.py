"""Put the site on a branch of a git repository, through a worktree of its own: once, or again whenever something changed.

Nothing is forced and nothing of others is touched: only files that this site wrote are added, changed or removed; the branch moves forward by
ordinary commits, each with the whole change. When somebody else pushed meanwhile, their commits are taken first and ours goes on top.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from popcorn.errors import MissingFile, MissingTool, UnwritableStore
from popcorn.site.build import MANIFEST, Built, build

TRIES = 4
"""Pushes that lose a race, before giving up."""

DEADLINE_S = 600.0


@dataclass(frozen=True)
class Published:
    """What one publishing did."""

    commit: str | None
    """The new commit; None when nothing had changed."""
    changed: int
    """Files added, changed or removed."""
    pushed: bool
    """True when the remote has it."""


def publish(site: Path, repository: Path, branch: str = "gh-pages", folder: str = ".", remote: str | None = "origin") -> Published:
    """Commit the built site to a branch of a repository, below `folder` of it, and push it.

    remote: None, or a name that the repository does not have, commits without pushing.
    Raises MissingFile (no site, no repository), MissingTool (no git), UnwritableStore (git refuses; its words are in the text).
    """
    if not (site / MANIFEST).is_file():
        raise MissingFile(f"{site} is no site of Popcorn's; run popcorn site build first, or give its folder.")
    if shutil.which("git") is None:
        raise MissingTool("git is needed to publish; Debian: apt-get install git")
    if _git(repository, "rev-parse", "--git-dir", check=False).returncode != 0:
        raise MissingFile(f"{repository} is no git repository; give the folder of one with --repository.")
    target = remote if remote and remote in _git(repository, "remote").stdout.split() else None
    with _worktree(repository, branch, target) as tree:
        for _ in range(TRIES):
            changed = _copy(site, tree / folder)
            _git(tree, "add", "--all", "--", folder)
            if _git(tree, "diff", "--cached", "--quiet", check=False).returncode == 0:
                return Published(None, 0, target is not None)
            _git(tree, *_author(tree), "commit", "--quiet", "-m", "Site")
            commit = _git(tree, "rev-parse", "HEAD").stdout.strip()
            pushed = None if target is None else _git(tree, "push", "--quiet", target, f"HEAD:refs/heads/{branch}", check=False)
            if pushed is None or pushed.returncode == 0:
                # the clone's own branch follows only where that loses nothing: not when it has commits of its own, or is checked out
                _git(tree, "fetch", "--quiet", ".", f"{commit}:refs/heads/{branch}", check=target is None)
                return Published(commit, changed, target is not None)
            assert target is not None  # without one nothing is pushed
            said = " ".join(pushed.stderr.split())[:400]
            # somebody was faster: theirs first, then ours anew
            if _git(tree, "fetch", "--quiet", target, branch, check=False).returncode != 0:
                break  # nothing there to take first: it was refused
            _git(tree, "reset", "--quiet", "--hard", "FETCH_HEAD")
    raise UnwritableStore(
        f"{target}/{branch} moved on {TRIES} times while this was pushed, or refuses it; git said: {said or 'nothing'}. "
        f"Try again, or push {branch} by hand."
    )


def watch(
    site: Path, repository: Path, every_s: float, rebuild: Callable[[], Built] | None = None, branch: str = "gh-pages", folder: str = ".",
    remote: str | None = "origin", rounds: int | None = None, said: Callable[[str], None] = print,
) -> int:  # fmt: skip
    """Build and publish every so many seconds until stopped, or `rounds` times; returns how many commits were made. What fails once (a network, a
    race) is said and tried again at the next round."""
    commits = done = 0
    while rounds is None or done < rounds:
        started = time.monotonic()
        try:
            built = rebuild() if rebuild is not None else build(folder=site)
            result = publish(site, repository, branch, folder, remote)
            if result.commit:
                commits += 1
                said(
                    f"{built.made} pages made, {result.changed} files changed, commit {result.commit[:10]}{' pushed' if result.pushed else ''}"
                )
        except UnwritableStore as error:
            said(f"not published this time: {error}")
        done += 1
        if rounds is None or done < rounds:
            time.sleep(max(0.0, every_s - (time.monotonic() - started)))
    return commits


@contextmanager
def _worktree(repository: Path, branch: str, remote: str | None) -> Iterator[Path]:
    """A detached worktree at the branch's newest commit, or at an empty one where there is no such branch; gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="popcorn-site-"))
    tree = place / "tree"
    start = _start(repository, branch, remote)
    try:
        _git(repository, "worktree", "add", "--quiet", "--detach", str(tree), start)
        yield tree
    finally:
        _git(repository, "worktree", "remove", "--force", str(tree), check=False)
        shutil.rmtree(place, ignore_errors=True)
        _git(repository, "worktree", "prune", check=False)


def _start(repository: Path, branch: str, remote: str | None) -> str:
    if remote is not None and _git(repository, "fetch", "--quiet", remote, branch, check=False).returncode == 0:
        return _git(repository, "rev-parse", "FETCH_HEAD").stdout.strip()
    found = _git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False)
    if found.returncode == 0:
        return found.stdout.strip()
    empty = _git(repository, "hash-object", "-w", "-t", "tree", "--stdin", stdin="").stdout.strip()
    return _git(repository, *_author(repository), "commit-tree", empty, "-m", "An empty branch for the site").stdout.strip()


def _copy(site: Path, target: Path) -> int:
    """Bring our files in `target` to what `site` holds; how many changed. Files that no manifest of ours names stay as they are."""
    new, old = _files(site), _files(target)
    changed = 0
    for name in sorted(old - new):
        path = _inside(target, name)
        if path is not None and path.is_file():
            path.unlink()
            changed += 1
    for name in sorted(new):
        source, path = site / name, _inside(target, name)
        if path is None or not source.is_file():
            continue
        text = source.read_bytes()
        if not path.is_file() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            changed += 1
    # without it GitHub leaves out folders that begin with an underscore
    (target / ".nojekyll").touch()
    return changed


def _files(folder: Path) -> set[str]:
    """Files that the manifest of a site names, and the manifest."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {MANIFEST, *(str(name) for entry in found.values() for name in entry["files"])}
    except (OSError, ValueError, AttributeError, TypeError, KeyError):
        return set()


def _inside(folder: Path, name: str) -> Path | None:
    path = folder / name
    return path if path.resolve().is_relative_to(folder.resolve()) else None


def _author(folder: Path) -> list[str]:
    """An author where git knows none."""
    if _git(folder, "config", "user.email", check=False).stdout.strip():
        return []
    return ["-c", "user.name=Popcorn", "-c", "user.email=popcorn@localhost"]


def _git(folder: Path, *arguments: str, check: bool = True, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, input=stdin, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnwritableStore(f"git {arguments[0]} in {folder} did not work: {error}.") from None
    if check and done.returncode != 0:
        raise UnwritableStore(f"git {arguments[0]} in {folder} failed: {' '.join(done.stderr.split())[:400]}.")
    return done
