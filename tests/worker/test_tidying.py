"""Folders that hostile code filled are removed."""

import os
from pathlib import Path

from popcorn.toolchain.triton_cache import private_caches
from popcorn.worker.tidying import remove_tree


def test_a_tree_too_deep_to_be_walked_is_removed(tmp_path: Path) -> None:
    folder, here = tmp_path / "folder", Path.cwd()
    folder.mkdir()
    os.chdir(folder)
    try:
        for _ in range(1500):
            Path("deep" * 8).mkdir()
            Path("file").write_text("x")
            os.chdir("deep" * 8)
    finally:
        os.chdir(here)
    remove_tree(folder)
    assert not folder.exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    folder = tmp_path / "folder"
    (folder / "closed" / "within").mkdir(parents=True)
    (folder / "link").symlink_to(kept)
    (folder / "closed" / "within" / "link").symlink_to(kept)
    (folder / "closed").chmod(0)
    remove_tree(folder)
    assert not folder.exists() and (kept / "file").read_text() == "x"
    remove_tree(folder)  # what is not there needs no removing


def test_a_cache_folder_that_somebody_replaced_is_a_folder_again(tmp_path: Path) -> None:
    own = tmp_path / "abc"
    own.mkdir()
    (own / "triton").write_text("no folder")
    (own / "inductor").symlink_to("/nowhere")
    own.chmod(0)
    told = private_caches(tmp_path, "abc")
    assert all(Path(place).is_dir() and not Path(place).is_symlink() for place in told.values())
