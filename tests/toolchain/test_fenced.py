"""What a candidate's text asks of a compiler: it reads the system and its own folder, writes its own folder, and has limits."""

import os
from pathlib import Path

import pytest

from popcorn.devices.landlock import landlock_abi
from popcorn.toolchain.build import build
from popcorn.toolchain.cache import BuildCache
from popcorn.toolchain.command import find_compiler, run_command

fenced = pytest.mark.skipif(landlock_abi() < 3, reason="this kernel has no Landlock that fences files")
FORWARD = """
#include "popcorn_kernel.h"
int popcorn_forward(const popcorn_tensor* i, int n, popcorn_tensor* o, int m, const double* s, int k, void* t) { return 0; }
"""

BOMB = """
template<class T, int K> struct P {};
template<int N, class T> struct A { using L = typename A<N - 1, P<T, 0>>::X; using R = typename A<N - 1, P<T, 1>>::X; using X = T; };
template<class T> struct A<0, T> { using X = T; };
A<24, int>::X x;
"""


def built(text: str, folder: Path, language: str = "c"):
    return build(text + FORWARD, language, f"kernel.{language}", BuildCache(folder / "builds"), timeout_s=60)


@fenced
@pytest.mark.parametrize("place", ["/etc/passwd", "/proc/self/environ", "/proc/1/cmdline", "SECRET"])
def test_a_text_cannot_include_what_its_user_may_read(place: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.h"
    secret.write_text("the answer to everything\n")
    result = built(f'#include "{secret if place == "SECRET" else place}"\n', tmp_path)
    assert not result.ok
    assert "answer" not in str(result.diagnostics) and "root:" not in str(result.diagnostics), result.diagnostics


@fenced
def test_the_assembler_is_behind_the_same_fence(tmp_path: Path) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_text("the answer to everything")
    result = built(f'__asm__(".section .rodata\\n.incbin \\"{secret}\\"\\n.text");\n', tmp_path)
    assert not result.ok and "secret.bin" in str(result.reason)


def test_honest_texts_find_the_systems_headers(tmp_path: Path) -> None:
    assert built("#include <immintrin.h>\n#include <math.h>\n#include <omp.h>\n" if os.uname().machine == "x86_64" else "", tmp_path).ok
    assert built("#include <vector>\n#include <thread>\n", tmp_path, "cpp").reason is None


@fenced
def test_a_command_writes_its_own_folder_alone(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir(), other.mkdir()
    assert run_command(["sh", "-c", "echo x > mine && cat mine"], own, 30).output.strip() == "x"
    assert run_command(["sh", "-c", f"echo x > {other}/theirs"], own, 30).code != 0
    assert run_command(["cat", "mine"], own, 30).code == 0
    assert not list(other.iterdir())


def test_a_compiler_that_eats_memory_is_ended_and_not_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from popcorn.toolchain import command

    monkeypatch.setattr(command, "_LEAST_MEMORY_BYTES", 300 << 20)
    monkeypatch.setattr(command.os, "sysconf", lambda name: 1)
    (tmp_path / "bomb.cpp").write_text(BOMB)
    ran = run_command([find_compiler("cpp"), "-c", "bomb.cpp"], tmp_path, 60)
    assert ran.code != 0 and not ran.timed_out, ran.output[-300:]


def test_a_command_that_is_not_there_is_said(tmp_path: Path) -> None:
    ran = run_command(["no-such-compiler"], tmp_path, 30)
    assert ran.code != 0 and "cannot be started" in ran.output
