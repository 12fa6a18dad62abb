"""Children from the parent's side: fresh in no time, clean, killed with everything they started, and never believed."""

import sys
import time

import psutil
import pytest

from popcorn.errors import HarnessFailure
from popcorn.worker.nursery import OUTPUT_CAP_BYTES, ChildDied, DeadlinePassed, MemoryPassed, Nursery
from tests.processes import gone
from tests.worker.conftest import FAMILY, Candidate


def test_a_fresh_isolated_child_is_ready_in_a_fraction_of_a_second(bench, record_property):
    """The figure is asserted in benchmarks; here only that nobody imports torch again."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        child = Candidate(bench).child
        times.append(time.perf_counter() - start)
        child.kill()
    record_property("ready_s", min(times))
    assert sorted(times)[2] < 10.0  # importing torch five times would take longer


def test_children_share_nothing_but_what_the_zygote_imported(bench):
    first, second = Candidate(bench), Candidate(bench)
    first.run("import torch; torch.mark = 1; sys.modules['left'] = sys; os.environ['LEFT'] = '1'; torch.manual_seed(7)")
    found = second.answer("""
        import torch
        answer(pid=os.getpid(), mark=hasattr(torch, "mark"), left="left" in sys.modules, env="LEFT" in os.environ)
    """)
    assert found == {"pid": second.child.pid, "mark": False, "left": False, "env": False}
    assert not torch_in_parent_is_marked()
    for one in (first, second):
        one.child.kill()


def torch_in_parent_is_marked() -> bool:
    return hasattr(sys.modules.get("torch"), "mark")


def test_a_deadline_ends_the_whole_family_and_says_how_long_it_was(bench):
    candidate = Candidate(bench)
    start = time.monotonic()
    with pytest.raises(DeadlinePassed, match="no answer in 1 s"):
        candidate.run(FAMILY + "print('going to sleep', flush=True); time.sleep(60)", timeout_s=1.0)
    assert time.monotonic() - start < 30
    pids = [int(text) for text in (candidate.folder / "pids.txt").read_text().split()]
    assert [pid for pid in pids if not gone(pid)] == [] and gone(candidate.child.pid)


def test_a_deadline_holds_for_a_child_that_ignores_every_signal(bench):
    candidate = Candidate(bench)
    code = """
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: pass
    """
    with pytest.raises(DeadlinePassed):
        candidate.run(code, timeout_s=0.5)
    assert gone(candidate.child.pid)


@pytest.mark.parametrize(
    ("last_words", "status", "described"),
    [
        ("os._exit(0)", 0, "exit code 0"),
        ("os._exit(13)", 13, "exit code 13"),
        ("os.kill(os.getpid(), 11)", -11, "signal SIGSEGV"),
        ("os.abort()", -6, "signal SIGABRT"),
        ("ctypes.string_at(0)", -11, "signal SIGSEGV"),
    ],
)
def test_how_a_child_ended_is_told_exactly(bench, last_words, status, described):
    candidate = Candidate(bench)
    with pytest.raises(ChildDied) as died:
        candidate.run(f"print('last words', flush=True)\n{last_words}")
    assert (died.value.status, died.value.describe()) == (status, described)
    assert "last words" in died.value.output


def test_a_gigabyte_of_output_is_drained_and_only_its_ends_are_kept(bench):
    candidate = Candidate(bench)
    before = psutil.Process().memory_info().rss
    candidate.run(
        """
        os.write(1, b"first words")
        part = b"x" * (1 << 20)
        for _ in range(1024): os.write(1 + _ % 2, part)
        os.write(2, b"last words")
        """,
        timeout_s=60,
    )
    end = time.monotonic() + 60
    while not (text := candidate.child.output()).endswith("last words") and time.monotonic() < end:
        time.sleep(0.02)
    candidate.child.kill()
    assert text.startswith("first words") and text.endswith("last words")
    assert len(text) < 2 * OUTPUT_CAP_BYTES + 100 and f"{(1 << 30) + 21 - 2 * OUTPUT_CAP_BYTES} bytes left out" in text
    assert psutil.Process().memory_info().rss - before < 64 << 20


def test_output_that_is_no_text_is_shown_as_far_as_it_can_be(bench):
    candidate = Candidate(bench)
    with pytest.raises(ChildDied) as died:
        candidate.run("os.write(1, bytes(range(256))); os._exit(1)")
    assert "ABC" in died.value.output


FORGED = {
    "a frame of four gigabytes": "channel().sendall(b'\\xff' * 4)",
    "no JSON": "channel().sendall(struct.pack('>I', 5) + b'hello')",
    "a list": "channel().sendall(struct.pack('>I', 3) + b'[1]')",
    "a number that is none": "channel().sendall(struct.pack('>I', 11) + b'{\"ok\": NaN}')",
    "nested without end": "channel().sendall(struct.pack('>I', 400000) + b'[' * 400000)",
    "its end closed": "channel().close(); time.sleep(60)",
}


@pytest.mark.parametrize("code", FORGED.values(), ids=FORGED.keys())
def test_a_malformed_answer_counts_as_death_and_the_child_is_ended(bench, code):
    candidate = Candidate(bench)
    with pytest.raises(ChildDied):
        candidate.run(code + "\ntime.sleep(60)")
    assert gone(candidate.child.pid)


@pytest.mark.parametrize(
    "code",
    [
        "channel().sendall(struct.pack('>I', 100) + b'{')\ntime.sleep(60)",
        "channel().sendall(struct.pack('>I', 1 << 24))\nwhile True: channel().send(b' ')",
        "end = channel()\nwhile True: end.sendall(struct.pack('>I', 15) + b'{\"request\": \"\"}')",
    ],
    ids=["half an answer", "a dripping answer", "requests without end that nobody reads the answers of"],
)
def test_no_way_of_answering_outlives_the_deadline(bench, code):
    candidate = Candidate(bench)
    start = time.monotonic()
    with pytest.raises(DeadlinePassed):
        candidate.run(code, timeout_s=0.7)
    assert time.monotonic() - start < 30 and gone(candidate.child.pid)


def test_a_child_that_reads_no_more_does_not_hold_the_parent(bench):
    candidate = Candidate(bench)
    candidate.run("import popcorn.worker.wire as w; w.Channel.receive = lambda self, deadline=None: time.sleep(60)")
    with pytest.raises((DeadlinePassed, ChildDied)):
        candidate.child.ask({"do": "import", "padding": "x" * (16 << 20)}, 0.7)
        candidate.child.ask({"do": "import", "padding": "x" * (16 << 20)}, 0.7)
    candidate.child.kill()


def test_time_spent_serving_a_request_does_not_count_against_the_child(bench):
    candidate = Candidate(bench)
    path = candidate.folder / "candidate.py"
    path.write_text(
        "import gc\nfrom popcorn.worker.wire import Channel\n"
        "c = next(o for o in gc.get_objects() if type(o) is Channel)\nc.send({'request': 'build'})\nassert c.receive() == {'built': 1}\n"
        "class ModelNew: pass\n"
    )

    def serve(request):
        time.sleep(5)
        return {"built": 1}

    reply = candidate.child.ask({"do": "import", "path": str(path), "language": "torch", "library": None}, 4.0, serve)
    assert "ok" in reply
    candidate.child.kill()


def test_one_child_dies_and_the_others_go_on(bench):
    doomed, fine = Candidate(bench), Candidate(bench)
    with pytest.raises(ChildDied):
        doomed.run("os._exit(1)")
    assert fine.answer("answer(alive=True)") == {"alive": True}
    fine.child.kill()


def test_kill_twice_and_asking_the_dead_are_harmless(bench):
    candidate = Candidate(bench)
    candidate.child.kill()
    candidate.child.kill()
    with pytest.raises(ChildDied):
        candidate.child.ask({"do": "import"}, 1)


def test_no_descriptor_is_left_after_many_children(bench):
    for _ in range(2):
        Candidate(bench).child.kill()
    before = open_descriptors(bench)
    for _ in range(10):
        Candidate(bench).child.kill()
    assert open_descriptors(bench) == before


def open_descriptors(bench):
    """Of this process and the zygote, the fewest of several looks: the zygote's own look for orphans opens one for a moment."""
    counts = []
    for _ in range(10):
        time.sleep(0.02)
        counts.append((psutil.Process().num_fds(), psutil.Process(bench.nursery._process.pid).num_fds()))
    return tuple(min(column) for column in zip(*counts, strict=True))


def test_closing_ends_zygote_and_children_and_a_closed_nursery_says_so():
    nursery = Nursery(1)
    child = nursery.fork()
    zygote = nursery._process.pid
    nursery.close()
    assert gone(child.pid) and gone(zygote)
    with pytest.raises(HarnessFailure):
        nursery.fork()
    child.kill()


def test_a_zygote_that_cannot_start_is_our_fault_and_its_words_are_shown(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('libgomp is missing')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Nursery(1) as nursery, pytest.raises(HarnessFailure, match="libgomp is missing"):
        nursery.wait_ready(30)


def test_a_tree_that_holds_too_much_memory_is_ended_by_the_parent_and_said_so(bench):
    """What a GPU needs, where the kernel's limit of addresses cannot be used: the memory is held by a child of the child."""
    candidate = Candidate(bench)
    candidate.child.limit_memory(200 << 20)
    with pytest.raises(MemoryPassed, match="are allowed"):
        candidate.run(
            """
            if os.fork() == 0:
                held = bytearray(os.urandom(1 << 20)) * 400
            time.sleep(300)
        """,
            timeout_s=120,
        )
    assert gone(candidate.child.pid)


def test_a_tree_within_its_memory_is_left_alone(bench):
    candidate = Candidate(bench)
    candidate.child.limit_memory(800 << 20)
    assert candidate.answer("held = bytearray(1 << 20) * 100; time.sleep(1); answer(size=len(held))") == {"size": 100 << 20}
    candidate.child.kill()
