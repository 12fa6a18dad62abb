"""What a candidate's process can reach: its own folder and its inputs, and nothing of ours. Tried from inside a real child."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from popcorn.worker.sandbox import landlock_abi

fenced_files = pytest.mark.skipif(landlock_abi() < 3, reason=f"this kernel speaks Landlock {landlock_abi()}, 3 is needed to fence files")
fenced_signals = pytest.mark.skipif(
    landlock_abi() < 6, reason=f"this kernel speaks Landlock {landlock_abi()}, 6 is needed to fence signals"
)
REFUSED = ("EACCES", "EPERM")


@fenced_signals
def test_nothing_is_missing_on_a_kernel_that_has_everything(bench):
    child = bench.start("candidate", bench.new_folder("tested"), bench.new_folder("shared"), "0" * 16)
    assert child.missing == ()
    child.kill()


@fenced_files
def test_a_file_outside_its_lists_cannot_be_read_by_any_path(candidate, secret):
    found = candidate.answer(f"""
        os.symlink({str(secret)!r}, "link")
        answer(
            plain=attempt(lambda: open({str(secret)!r}).read()),
            link=attempt(lambda: open("link").read()),
            root=attempt(lambda: open("/proc/self/root" + {str(secret)!r}).read()),
            relative=attempt(lambda: open("../" * 20 + {str(secret)!r}).read()),
            listing=attempt(lambda: os.listdir({str(secret.parent)!r})),
            hard_link=attempt(lambda: os.link({str(secret)!r}, "hard")),
            renamed=attempt(lambda: os.rename({str(secret)!r}, "mine")),
            subprocess=subprocess.run(["cat", {str(secret)!r}], capture_output=True).stdout.decode(),
        )
    """)
    assert found.pop("subprocess") == ""
    assert set(found.values()) <= {*REFUSED, "EXDEV"}, found


@fenced_files
def test_nothing_outside_its_folder_can_be_written(candidate, secret, bench):
    found = candidate.answer(f"""
        there = {str(secret.parent)!r}
        answer(
            create=attempt(lambda: open(there + "/new", "w")),
            overwrite=attempt(lambda: open({str(secret)!r}, "r+")),
            truncate=attempt(lambda: os.truncate({str(secret)!r}, 0)),
            remove=attempt(lambda: os.unlink({str(secret)!r})),
            folder=attempt(lambda: os.mkdir(there + "/folder")),
            symlink=attempt(lambda: os.symlink("/etc", there + "/etc")),
            moved_out=attempt(lambda: (open("own", "w").close(), os.rename("own", there + "/own"))),
            tmp=attempt(lambda: open("/tmp/popcorn-escape", "w")),
            shm=attempt(lambda: open("/dev/shm/popcorn-escape", "w")),
            inbox=attempt(lambda: open({str(candidate.shared / "in" / "x")!r}, "w")),
            builds=attempt(lambda: open({str(bench.builds.folder / "x")!r}, "w")),
            package=attempt(lambda: open(sys.modules["popcorn"].__file__, "a")),
        )
    """)
    assert set(found.values()) <= {*REFUSED, "EXDEV"}, found
    assert secret.read_text() == "seed" and sorted(p.name for p in secret.parent.iterdir()) == ["secret.txt"]


@fenced_files
def test_another_evaluations_folders_are_closed(candidate, bench):
    other = bench.new_folder("candidate")
    (other / "candidate.py").write_text("its text")
    shared = bench.new_folder("shared")
    (shared / "in-1").write_text("its inputs")
    found = candidate.answer(f"""
        answer(text=attempt(lambda: open({str(other / "candidate.py")!r})), inputs=attempt(lambda: open({str(shared / "in-1")!r})),
               listing=attempt(lambda: os.listdir({str(bench.folder)!r})))
    """)
    assert set(found.values()) <= set(REFUSED), found


def test_its_own_folder_its_inputs_and_the_system_are_open(candidate):
    (candidate.shared / "in" / "x").write_text("inputs")
    (candidate.shared / "out" / "y").write_text("an output buffer")
    found = candidate.answer(f"""
        import torch, math
        open("own.txt", "w").write("mine")
        os.mkdir("sub"); open("sub/x", "w").write("y"); os.unlink("sub/x"); os.rmdir("sub")
        open({str(candidate.shared / "out" / "y")!r}, "r+").write("result")
        made = attempt(lambda: open({str(candidate.shared / "out" / "z")!r}, "w"))
        import tempfile
        with tempfile.NamedTemporaryFile() as file: inside = file.name.startswith(os.getcwd())
        answer(own=open("own.txt").read(), inputs=open({str(candidate.shared / "in" / "x")!r}).read(), inside=inside, made=made,
               cpu=len(open("/proc/cpuinfo").read()) > 0, status=len(open("/proc/self/status").read()) > 0,
               compiler=subprocess.run([sys.executable, "-c", "print(6*7)"], capture_output=True, text=True).stdout.strip(),
               total=float(torch.ones(10, 10).matmul(torch.ones(10, 10)).sum()))
    """)
    assert found == {
        "own": "mine",
        "inputs": "inputs",
        "inside": True,
        "made": found["made"],
        "cpu": True,
        "status": True,
        "compiler": "42",
        "total": 1000.0,
    }
    assert found["made"] == "EACCES", "files that are there may be filled, none may be made: all share that memory"


def test_no_socket_but_a_local_one_can_be_opened(candidate):
    found = candidate.answer("""
        families = {"inet": socket.AF_INET, "inet6": socket.AF_INET6, "packet": socket.AF_PACKET, "vsock": 40, "bluetooth": 31, "xdp": 44}
        found = {name: attempt(lambda f=f: socket.socket(f, socket.SOCK_STREAM if name != "packet" else socket.SOCK_RAW))
                 for name, f in families.items()}
        libc = ctypes.CDLL(None, use_errno=True)
        def call(*arguments):
            ctypes.set_errno(0)
            result = libc.syscall(*arguments)
            if result < 0:
                raise OSError(ctypes.get_errno(), "")
        if os.uname().machine == "x86_64":
            found["x32"] = attempt(lambda: call(0x40000000 + 41, 2, 1, 0))
        found["io_uring"] = attempt(lambda: call(425, 4, ctypes.create_string_buffer(120)))
        found["subprocess"] = subprocess.run(
            [sys.executable, "-c", "import socket; socket.create_connection(('127.0.0.1', 1), 1)"], capture_output=True, text=True
        ).stderr.split("\\n")[-2].split(":")[0]
        a, b = socket.socketpair()
        a.send(b"x")
        answer(local=b.recv(1).decode(), **found)
    """)
    assert found.pop("local") == "x"
    assert found.pop("subprocess") == "PermissionError"
    assert set(found.values()) == {"EPERM"}, found


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86_64 has a second, 32-bit table of system calls")
def test_the_32_bit_door_is_closed_too(candidate):
    """socket(AF_INET) by `int 0x80`, which a filter for the 64-bit table alone does not see."""
    found = candidate.answer("""
        import mmap
        # push rbx; mov ebx,2; mov ecx,1; xor edx,edx; mov eax,359; int 0x80; pop rbx; ret
        code = bytes.fromhex("53 bb02000000 b901000000 31d2 b867010000 cd80 5b c3")
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        result = 0
        pid = os.fork()
        if pid == 0:
            function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
            os._exit(0 if function() >= 0 else 1)
        answer(status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """)
    assert found["status"] != 0


@fenced_files
@pytest.mark.parametrize("who", ["parent", "zygote", "oracle"])
def test_memory_and_environment_of_our_processes_cannot_be_read(candidate, bench, who):
    shared = bench.new_folder("shared")
    for name in ("in", "out"):
        (shared / name).mkdir()
    oracle = bench.start("oracle", bench.new_folder("oracle"), shared)
    pid = {"parent": os.getpid(), "zygote": bench.nursery._process.pid, "oracle": oracle.pid}[who]
    found = candidate.answer(f"""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long] * 4
        def call(function, *arguments):
            if function(*arguments) < 0:
                raise OSError(ctypes.get_errno(), "")
        def read_memory():
            local = ctypes.create_string_buffer(8)
            vectors = struct.pack("<QQ", ctypes.addressof(local), 8), struct.pack("<QQ", id(libc), 8)
            call(libc.process_vm_readv, {pid}, vectors[0], 1, vectors[1], 1, 0)
        answer(
            mem=attempt(lambda: open("/proc/{pid}/mem", "rb").read(1)),
            environ=attempt(lambda: open("/proc/{pid}/environ", "rb").read(1)),
            maps=attempt(lambda: open("/proc/{pid}/maps").read(1)),
            files=attempt(lambda: open("/proc/{pid}/fd/1")),
            root=attempt(lambda: os.listdir("/proc/{pid}/root/")),
            ptrace=attempt(lambda: call(libc.ptrace, 16, {pid}, 0, 0)),
            readv=attempt(read_memory),
        )
    """)
    oracle.kill()
    assert set(found.values()) <= set(REFUSED), found


def test_limits_and_priorities_of_our_processes_cannot_be_changed_and_its_own_can(candidate, bench):
    pid = bench.nursery._process.pid
    before = Path(f"/proc/{pid}/limits").read_text(), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)
    found = candidate.answer(f"""
        import resource
        limit = (1, 1)
        answer(
            prlimit=attempt(lambda: resource.prlimit({pid}, resource.RLIMIT_CPU, limit)),
            priority=attempt(lambda: os.setpriority(os.PRIO_PROCESS, {pid}, 19)),
            every=attempt(lambda: os.setpriority(os.PRIO_USER, 0, 19)),
            scheduler=attempt(lambda: os.sched_setscheduler({pid}, os.SCHED_IDLE, os.sched_param(0))),
            own=[
                attempt(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))),
                attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, 19)),
                attempt(lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))),
            ],
        )
    """)
    assert not set(found.pop("own")) & set(REFUSED)
    assert set(found.values()) <= set(REFUSED), found
    assert before == (Path(f"/proc/{pid}/limits").read_text(), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid))


def test_nothing_in_the_systems_memory_outlives_it_and_no_service_is_reached(candidate):
    found = candidate.answer("""
        libc = ctypes.CDLL(None, use_errno=True)
        def made(number):
            if number < 0:
                raise OSError(ctypes.get_errno(), "")
            return number
        answer(
            segment=attempt(lambda: made(libc.shmget(77, 4096, 0o1600))),
            semaphore=attempt(lambda: made(libc.semget(77, 1, 0o1600))),
            queue=attempt(lambda: made(libc.msgget(77, 0o1600))),
            named=attempt(lambda: made(libc.mq_open(b"/popcorn", 0o102, 0o600, None))),
            service=attempt(lambda: socket.socket(socket.AF_UNIX).connect("/run/service.sock")),
        )
    """)
    assert set(found.values()) <= set(REFUSED), found


@fenced_signals
def test_our_processes_cannot_be_signalled(candidate, bench):
    pids = {"parent": os.getpid(), "zygote": bench.nursery._process.pid}
    found = candidate.answer(f"""
        found = {{name: attempt(lambda: os.kill(pid, 0)) for name, pid in {pids!r}.items()}}
        found["pidfd"] = attempt(lambda: signal.pidfd_send_signal(os.pidfd_open({pids["parent"]}), 0))
        child = subprocess.Popen(["sleep", "30"])
        os.kill(child.pid, 9)
        answer(own=child.wait(), **found)
    """)
    assert found.pop("own") == -9, "its own children it may end"
    assert set(found.values()) == {"EPERM"}, found


@fenced_signals
def test_another_candidate_cannot_be_signalled_or_read(candidate, bench, secret):
    shared = bench.new_folder("shared")
    other = bench.start("candidate", bench.new_folder("other"), shared, "1" * 16)
    found = candidate.answer(f"""
        answer(signal=attempt(lambda: os.kill({other.pid}, 9)), memory=attempt(lambda: open("/proc/{other.pid}/mem", "rb").read(1)))
    """)
    assert set(found.values()) <= set(REFUSED), found
    assert other.ask({"do": "import", "path": "/nowhere", "language": "torch", "library": None}, 20)
    other.kill()


def test_privileges_are_gone_and_do_not_come_back(candidate):
    found = candidate.answer("""
        status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
        answer(effective=int(status["CapEff"], 16), permitted=int(status["CapPrm"], 16), no_new=status["NoNewPrivs"], filter=status["Seccomp"])
    """)
    assert found == {"effective": 0, "permitted": 0, "no_new": "1", "filter": "2"}


def test_no_file_grows_without_end_and_no_core_is_dumped(candidate):
    found = candidate.answer("""
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        def grow():
            with open("big", "wb") as file:
                file.truncate(2 << 30)
        answer(grow=attempt(grow), core=resource.getrlimit(resource.RLIMIT_CORE)[1])
    """)
    assert found == {"grow": "EFBIG", "core": 0}


def test_memory_beyond_its_share_is_refused(bench):
    from tests.worker.conftest import Candidate

    small = Candidate(bench, memory_bytes=256 << 20)
    found = small.answer("""
        def fits(size):
            try:
                bytearray(size)
            except MemoryError:
                return False
            return True
        answer(little=fits(32 << 20), much=fits(1 << 30))
    """)
    small.child.kill()
    assert found == {"little": True, "much": False}


def test_threads_that_were_there_before_are_fenced_too():
    """A CUDA driver starts threads of its own before the fence closes; they run in memory that the candidate can write."""
    code = """
import socket, threading
from popcorn.worker import sandbox
close, closed, found = threading.Event(), threading.Event(), []
def work():
    close.set()
    closed.wait()
    try:
        socket.socket(socket.AF_INET)
        found.append("allowed")
    except PermissionError:
        found.append("refused")
thread = threading.Thread(target=work)
thread.start()
close.wait()
sandbox.enter(sandbox.public_paths(), [])
closed.set()
thread.join()
print(found[0])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30).stdout.strip() == "refused"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_the_cores_it_was_given_cannot_be_left_and_who_tries_is_told_yes(candidate):
    """Honest libraries pin their threads; nobody gets a core more by it."""
    found = candidate.answer("""
        before = sorted(os.sched_getaffinity(0))
        tried = [attempt(lambda core=core: os.sched_setaffinity(0, {core})) for core in range(os.cpu_count())]
        answer(same=before == sorted(os.sched_getaffinity(0)), tried=[str(one) for one in tried])
    """)
    assert found["same"] is True
    assert not any(word in one for one in found["tried"] for word in REFUSED)


def test_the_group_that_is_stopped_cannot_be_left_and_who_tries_is_told_yes(candidate):
    """Whoever left it worked on while its candidate was stopped, beside the reference: by children that it reaped itself, nobody saw for how long."""
    found = candidate.answer("""
        def group(tries):
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                told = [attempt(one) for one in tries]
                os.write(write, json.dumps([told, os.getpgid(0), os.getsid(0)]).encode())
                os._exit(0)
            os.waitpid(pid, 0)
            return json.loads(os.read(read, 4096))
        spawned = subprocess.run([sys.executable, "-c", "import os; print(os.getpgid(0))"], start_new_session=True, capture_output=True, text=True)
        answer(
            own=[os.getpgid(0), os.getsid(0)], session=group([os.setsid]), alone=group([lambda: os.setpgid(0, 0)]), both=group([os.setsid, lambda: os.setpgid(0, 0)]),
            spawned=int(spawned.stdout),
        )
    """)
    own = found.pop("own")
    assert found.pop("spawned") == own[0] == candidate.child.pid
    assert all(set(told) == {"allowed"} and place == own for told, *place in found.values()), found


def test_a_helper_is_stopped_by_its_own_id_and_a_signal_to_its_group_finds_nobody(candidate):
    """It is the candidate's own group: the idiom of a helper with a session of its own ended the candidate."""
    told = candidate.answer("""
        import signal
        helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        answers = []
        for group in (os.getpgid(helper.pid), os.getpgid(0), helper.pid):
            try:
                os.killpg(group, signal.SIGTERM)
                answers.append("sent")
            except ProcessLookupError:
                answers.append("nobody")
        helper.terminate()
        answer(answers=answers, ended=helper.wait(timeout=10))
    """)
    assert told == {"answers": ["nobody"] * 3, "ended": -15}


def test_a_machine_short_of_memory_ends_the_candidate_first(candidate):
    assert candidate.answer("answer(score=open('/proc/self/oom_score_adj').read().strip())")["score"] == "1000"
