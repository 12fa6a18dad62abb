"""Building alone: through the build lane, past it where the text is built already; the device lane is never entered."""

import threading
import time
from pathlib import Path

import pytest

from popcorn.records.store import Store
from popcorn.suites.problems import find_problem
from popcorn.worker.building import build_candidate
from popcorn.worker.local import LocalEngine
from popcorn.worker.request import Request
from tests.candidates import HONEST, IN_C

PROBLEM = find_problem(str(Path(__file__).parents[1] / "problems" / "row_softmax.py"))


def request(source: str, language: str = "c", name: str = "kernel.c") -> Request:
    return Request(problem=PROBLEM, source=source, language=language, name=name, device="cpu", build_timeout_s=30.0)


def test_a_build_has_its_lane_and_library_and_touches_no_device(bench):
    jobs = bench.device_lane.usage.jobs
    built = build_candidate(request(IN_C + "/* alone */"), bench)
    assert built.refused is None and built.build.build_s > 0 and built.lane.run_s > 0
    assert [path.suffix for path in built.libraries] == [".so"] and built.libraries[0].is_file()
    assert bench.device_lane.usage.jobs == jobs


def test_a_text_that_does_not_compile_is_refused_with_the_compilers_lines(bench):
    built = build_candidate(request("int popcorn_forward(void) { return nothing; }"), bench)
    assert built.refused.outcome == "compile_error" and "nothing" in built.build.diagnostics[0].message and built.libraries == ()


def test_a_module_that_raises_at_import_is_refused(bench):
    built = build_candidate(request("import torch\nraise ValueError('no')\nclass ModelNew: pass\n", "torch", "kernel.py"), bench)
    assert built.refused.outcome in ("runtime_error", "compile_error") and "no" in built.refused.reason
    assert build_candidate(request(HONEST, "torch", "kernel.py"), bench).refused is None


def test_what_is_built_waits_for_no_compiler(bench):
    source = IN_C + "/* waits for nobody */"
    build_candidate(request(source), bench)
    released = threading.Event()
    for _ in range(8):
        bench.build_lane.submit(lambda: released.wait(20))
    try:
        began = time.monotonic()
        built = build_candidate(request(source), bench)
        assert built.build.cached and built.lane.queue_s == 0 and time.monotonic() - began < 10
    finally:
        released.set()


def test_the_engine_builds_without_a_record(bench, tmp_path):
    store = Store(tmp_path)
    engine = LocalEngine(bench, lambda *_: pytest.fail("nothing is to be judged"))
    assert engine.build(request(IN_C)).result(timeout=60).refused is None
    assert len(store) == 0
    engine._pool.shutdown()
