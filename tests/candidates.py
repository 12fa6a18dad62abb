"""Candidates as text: honest ones, wrong ones, and those that break or deceive. All for tests/problems/row_softmax.py unless said."""

import textwrap
from dataclasses import dataclass

SOFTMAX = "return torch.softmax(x, dim=-1)"


def text(forward: str = SOFTMAX, top: str = "", init: str = "pass", arguments: str = "x", init_arguments: str = "*args") -> str:
    """A Python candidate from its parts."""
    return "\n".join(
        [
            "import ctypes, os, signal, subprocess, sys, time",
            "import torch",
            textwrap.dedent(top),
            "class ModelNew(torch.nn.Module):",
            f"    def __init__(self, {init_arguments}):",
            "        super().__init__()",
            textwrap.indent(textwrap.dedent(init), " " * 8),
            f"    def forward(self, {arguments}):",
            textwrap.indent(textwrap.dedent(forward), " " * 8),
            "",
        ]
    )


HONEST = text()

IN_C = r"""
#include <math.h>
#include "popcorn_kernel.h"

int popcorn_forward(const popcorn_tensor* in, int n_in, popcorn_tensor* out, int n_out, const double* s, int n_s, void* stream) {
    const float* x = in[0].data;
    float* y = out[0].data;
    const int64_t rows = in[0].shape[0], width = in[0].shape[1], down = in[0].stride[0], right = in[0].stride[1];
    #pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        float top = -INFINITY, total = 0;
        for (int64_t j = 0; j < width; j++) top = fmaxf(top, x[i * down + j * right]);
        for (int64_t j = 0; j < width; j++) total += y[i * width + j] = expf(x[i * down + j * right] - top);
        for (int64_t j = 0; j < width; j++) y[i * width + j] /= total;
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Case:
    """A candidate and what must become of it."""

    name: str
    source: str
    outcome: str
    says: str = ""
    """What its reason must hold."""
    stage: str | None = None
    language: str = "torch"
    problem: str = "row_softmax"

    @property
    def file(self) -> str:
        return "candidate.c" if self.language == "c" else "candidate.py"


def forward(body: str) -> str:
    return text(body)


def c_body(body: str) -> str:
    return (
        '#include "popcorn_kernel.h"\n#include <stdlib.h>\nint popcorn_forward(const popcorn_tensor* in, int n_in, popcorn_tensor* out,'
        " int n_out, const double* s, int n_s, void* stream) {\n" + body + "\n}\n"
    )


WRONG = [
    Case("zeros", forward("return torch.zeros_like(x)"), "wrong_values", "exceeds"),
    Case("the wrong axis", forward("return torch.softmax(x, dim=0)"), "wrong_values"),
    Case("the last column forgotten", forward("y = torch.softmax(x, -1)\ny[:, -1] = 0\nreturn y"), "wrong_values"),
    Case("one element wrong", forward("y = torch.softmax(x, -1)\ny[0, 0] *= 1.001\nreturn y"), "wrong_values"),
    Case("no maximum taken off", forward("e = torch.exp(x * 20) ** 5\nreturn e / e.sum(-1, keepdim=True)"), "nonfinite"),
    Case("memory never written", forward("y = torch.empty_like(x)\ny[1:] = torch.softmax(x[1:], -1)\nreturn y"), "wrong_values"),
    Case("settings of torch changed for the judge", forward("torch.set_default_dtype(torch.float64)\nreturn torch.softmax(x, -1)"), "cheated", "default_dtype"),
    Case("a row short", forward("return torch.softmax(x, -1)[:-1].clone()"), "wrong_shape", "expected"),
    Case("what would broadcast", forward("return torch.softmax(x, -1)[None]"), "wrong_shape"),
    Case("a single number", forward("return x.sum()"), "wrong_shape"),
    Case("a tuple", forward("return (torch.softmax(x, -1),)"), "wrong_shape", "out[0]"),
    Case("nothing", forward("return None"), "wrong_dtype", "NoneType"),
    Case("a numpy array", forward("return torch.softmax(x, -1).numpy()"), "wrong_dtype", "numpy.ndarray"),
    Case("doubles", forward("return torch.softmax(x.double(), -1)"), "wrong_dtype", "float64"),
    Case("half precision", forward("return torch.softmax(x, -1).half()"), "wrong_dtype", "float16"),
    Case("half precision inside", forward("return torch.softmax(x.bfloat16(), -1).float()"), "wrong_values"),
    Case("one NaN", forward("y = torch.softmax(x, -1)\ny[-1, -1] = float('nan')\nreturn y"), "nonfinite", "1 of"),
    Case("one infinity", forward("y = torch.softmax(x, -1)\ny[0, 0] = float('inf')\nreturn y"), "nonfinite"),
    Case("input changed", forward("y = torch.softmax(x, -1)\nx[0, 0] += 1\nreturn y"), "mutated_inputs", "input 0"),
    Case("input used as scratch", forward("return x.sub_(x.amax(-1, keepdim=True)).exp_().div_(x.sum(-1, keepdim=True)).clone()"), "mutated_inputs"),
    Case("input returned", forward("return x"), "wrong_values", "shares memory with an input", problem="magnitude"),
    Case("a view of the input returned", forward("return x.view(1, -1)[0]"), "wrong_values", "shares memory with an input", problem="magnitude"),
    Case(
        "one buffer for all results",
        text("if self.y is None or self.y.shape != x.shape: self.y = torch.empty_like(x)\nreturn torch.softmax(x, -1, out=self.y)", init="self.y = None"),
        "wrong_values",
        "previous call",
    ),
    Case(
        "another answer the second time",
        text("self.calls += 1\nreturn torch.softmax(x, -1) * (1 + 0.01 * (self.calls % 2 == 0))", init="self.calls = 0"),
        "not_deterministic",
    ),
    Case("shapes fixed in the code", forward("y = torch.zeros(32, 96)\npart = torch.softmax(x, -1)[:32, :96]\ny[: part.shape[0], : part.shape[1]] = part\nreturn y"), "wrong_shape", "other sizes"),
    Case("reshaped to fixed sizes", forward("return torch.softmax(x.reshape(32, 96), -1)"), "runtime_error", "line"),
    Case("contiguous inputs taken for granted", forward("return torch.softmax(x.as_strided(x.shape, (x.shape[1], 1)), -1)"), "wrong_values", "transposed"),
    Case("wrong in C", c_body("return 0;"), "wrong_values", language="c"),
]  # fmt: skip

FAILING = [
    Case("raises", forward("raise ValueError('the reason given')"), "runtime_error", "the reason given"),
    Case("raises in the constructor", text(init="raise KeyError('missing')"), "runtime_error", "missing", "load"),
    Case("raises at import", text(top="raise OSError('no such kernel')"), "runtime_error", "no such kernel", "build"),
    Case("raises text that is no text", forward("raise ValueError('\\ud800 \\x00 \\x1b[2J' + 'long' * 100_000)"), "runtime_error", "ValueError"),
    Case("raises an exception that raises", text("raise Bad()", top="class Bad(Exception):\n    def __str__(self): raise Bad()"), "runtime_error"),
    Case("refuses the case", forward("raise NotImplementedError('only for powers of two')"), "rejected", "powers of two"),
    Case("recursion without end", forward("return self.forward(x)"), "runtime_error", "RecursionError"),
    Case("missing module", text(top="import no_such_module"), "runtime_error", "no_such_module", "build"),
    Case("syntax error", "import torch\n\nclass ModelNew(:\n    pass\n", "compile_error", "line 3", "build"),
    Case("no ModelNew", "import torch\nclass Model(torch.nn.Module): pass\n", "compile_error", "ModelNew", "build"),
    Case("ModelNew taken away", text() + "del ModelNew\n", "compile_error", "ModelNew", "build"),
    Case("ModelNew is a number", "ModelNew = 3\n", "compile_error", "ModelNew", "build"),
    Case("forward of two", text(arguments="x, y"), "runtime_error", "TypeError", "correctness"),
    Case("forward of none", text("return torch.zeros(1)", arguments=""), "runtime_error", "TypeError"),
    Case("constructor of one too many", text(init_arguments="rows"), "runtime_error", "TypeError", "load"),
    Case("constructor of one too few", text("return torch.tanh(x)", init_arguments="inputs, outputs"), "runtime_error", "TypeError", "load", problem="scaled_linear"),
    Case("too much memory", forward("return bytearray(1 << 45)"), "out_of_memory"),
    Case("C that does not compile", c_body("return nothing_of_this_name;"), "compile_error", "nothing_of_this_name", "build", "c"),
    Case("C without popcorn_forward", "int other(void) { return 0; }\n", "compile_error", "popcorn_forward", "build", "c"),
    Case("C that returns a number", c_body("return 7;"), "runtime_error", "7", language="c"),
    Case("C that follows a null pointer", c_body("*(volatile int*)0 = 1; return 0;"), "crash", "SIGSEGV", language="c"),
    Case("C that ends the process", c_body("exit(0);"), "crash", "exit code 0", language="c"),
    Case("ends at import", text(top="os._exit(0)"), "crash", "exit code 0", "build"),
    Case("ends in forward", forward("os._exit(0)"), "crash", "exit code 0", "correctness"),
    Case("leaves politely", forward("sys.exit(0)"), "runtime_error"),
    Case("segfault", forward("ctypes.string_at(0)"), "crash", "SIGSEGV"),
    Case("abort with last words", forward("print('I give up', flush=True)\nos.abort()"), "crash", "I give up"),
    Case("kills its group", forward("os.killpg(0, signal.SIGKILL)"), "crash", "SIGKILL"),
    Case("sleeps beside a child", forward("subprocess.Popen(['sleep', '300'], start_new_session=True)\ntime.sleep(300)"), "timeout", "'run'"),
    Case("sleeps at import", text(top="time.sleep(300)"), "timeout", stage="build"),
    Case("spins", forward("while True: pass"), "timeout"),
    Case("kills what it can", forward("try: os.kill(-1, 9)\nexcept OSError: pass\ntry: os.kill(os.getppid(), 9)\nexcept OSError: pass\nreturn torch.softmax(x, -1)"), "correct"),
    Case("closes every file", forward("os.closerange(0, 64)\nreturn torch.softmax(x, -1)"), "crash"),
]  # fmt: skip

BURDENS = [
    Case(
        "prints a gigabyte",
        text(top="part = b'noise ' * 200_000\nfor _ in range(900): os.write(1, part)"),
        "correct",
    ),
    Case(
        "forks fifty children",
        text(top="for _ in range(50):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(300)\n        os._exit(0)"),
        "correct",
    ),
    Case("leaves threads running", text(top="import threading\nfor _ in range(8): threading.Thread(target=time.sleep, args=(300,)).start()"), "correct"),
]  # fmt: skip

LAZY = """
class Later(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_subclass(cls, torch.zeros_like(x))
    def __init__(self, x):
        self.x = x
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args = [torch.softmax(a.x, -1) if isinstance(a, Later) else a for a in args]
        return func(*args, **(kwargs or {}))
"""
PATCH_CLOCK = """
import gc, types
real = time.perf_counter_ns
def slow_clock(honest=real):
    return honest() // FACTOR
def slow_seconds(honest=real):
    return honest() * 1e-9 / FACTOR
for module in [m for m in list(sys.modules.values()) if m is not time]:  # the names that are looked at stay honest
    for name, value in list(getattr(module, "__dict__", {}).items()):
        if value is real:
            module.__dict__[name] = slow_clock
        elif value is time.perf_counter or value is time.monotonic:
            module.__dict__[name] = slow_seconds
for holder in gc.get_referrers(real):
    if isinstance(holder, dict):
        for key in [k for k, v in holder.items() if v is real]:
            holder[key] = slow_clock
"""
PATCH_TIMER = """
from popcorn.measure.timing import CpuTimer
honest_time = CpuTimer.time
CpuTimer.time = lambda self, windows, keep: [s / 1000 for s in honest_time(self, windows, keep)]
"""
PATCH_TIMER_LATER = """
from pathlib import Path
count = Path(os.environ["TRITON_CACHE_DIR"]).parent / "count"
seen = len(count.read_bytes()) if count.exists() else 0
with count.open("ab") as file: file.write(b"x")
if seen >= 3:
    from popcorn.measure.timing import CpuTimer
    honest_time = CpuTimer.time
    CpuTimer.time = lambda self, windows, keep: [s / 1000 for s in honest_time(self, windows, keep)]
"""
BY_POINTER = "key = x.data_ptr()\nif key not in self.seen: self.seen[key] = torch.softmax(x, -1)\nreturn self.seen[key].clone()"
BY_CONTENT = (
    "key = hash(x.numpy().tobytes())\nif key not in self.seen: self.seen[key] = torch.softmax(x, -1)\nreturn self.seen[key].clone()"
)

CHEATS_WHILE_TIMED = [
    Case("every clock three times as slow", text(top=PATCH_CLOCK.replace("FACTOR", "3")), "cheated", "clock"),
    Case("every clock a thousand times as slow", text(top=PATCH_CLOCK.replace("FACTOR", "1000")), "timeout", "'warm'"),
    Case("the timer patched in later launches alone", text(top=PATCH_TIMER_LATER), "cheated", "clock"),
    Case("the first result for ever", text("if self.y is None: self.y = torch.softmax(x, -1)\nreturn self.y.clone()", init="self.y = None"), "wrong_values", "timed", "timing"),
    Case(
        "right until it is warm",
        text("self.calls += 1\nreturn torch.softmax(x, -1) if self.calls < 20 else torch.zeros_like(x)", init="self.calls = 0"),
        "wrong_values",
        "timed",
        "timing",
    ),
]  # fmt: skip


def replying(name: str, reply: str) -> str:
    """A candidate that answers one command of the parent itself."""
    return text(top=f"import popcorn.worker.side as side\nside.Side.do_{name} = lambda self, message: {reply}")


TREE = "{'t': {'dtype': 'float32', 'shape': [32, 96], 'stride': [96, 1], 'at': 0}}"
FORGED = {
    "mutated holds objects": replying("run", "{'mutated': [{'a': 'x' * 100000}]}"),
    "a list for an answer": replying("run", "[1]"),
    "an empty answer": replying("run", "{}"),
    "mutated is a number": replying("run", "{'mutated': 5}"),
    "mutated is a dict": replying("run", "{'mutated': {'a': 1}}"),
    "aliases is true": replying("run", "{'aliases_input': True}"),
    "shared is a number": replying("run", "{'shared_output': 3}"),
    "first call of a text": replying("run", f"{{'first_call_s': 'x', 'trees': [{TREE}]}}"),
    "first call before it began": replying("run", f"{{'first_call_s': -1.0, 'trees': [{TREE}]}}"),
    "trees of numbers": replying("run", "{'trees': [1, 2]}"),
    "trees nested deep": replying("run", "{'trees': [eval('[' * 90 + ']' * 90)]}"),
    "trees nested deeper": text(top="""
        import popcorn.worker.side as side
        def do_run(self, message):
            tree = {'v': 1}
            for _ in range(480): tree = {'l': [tree]}
            return {'trees': [tree, tree]}
        side.Side.do_run = do_run
    """),
    "a tree outside the buffer": replying("run", "{'trees': [{'t': {'dtype': 'float32', 'shape': [32, 96], 'stride': [96, 1], 'at': 1 << 44}}]}"),
    "a shape beyond all memory": replying("run", "{'trees': [{'t': {'dtype': 'float32', 'shape': [1 << 40, 1 << 40], 'stride': [0, 0], 'at': 0}}]}"),
    "an alien of a dict": replying("run", "{'trees': [{'alien': {'a': [1]}}]}"),
    "a large of a number": replying("run", "{'trees': [{'large': 7}]}"),
    "a long alien": replying("run", "{'trees': [{'alien': 'x' * 1000000}]}"),
    "its own verdict": replying("run", "{'correct': True, 'trees': []}"),
    "a failure that is ours": text(top="""
        import popcorn.worker.failure as failure
        import popcorn.worker.side as side
        def do_run(self, message): raise failure.Failed('harness_error', 'not my fault')
        side.Side.do_run = do_run
    """),
    "a failure out of form": text(top="""
        import popcorn.worker.child as child
        child._answer = lambda server, message: {'failed': {'outcome': ['correct'], 'reason': {'a': 1}}}
    """),
    "both good and bad": text(top="""
        import popcorn.worker.child as child
        child._answer = lambda server, message: {'failed': 'no', 'ok': 'yes'}
    """),
}  # fmt: skip
"""Every one of these is the candidate's fault: never harness_error, never correct."""
