"""Remarks on a Python text, from its syntax tree: comments and strings neither hide nor trigger anything. Free of torch."""

import ast
from collections.abc import Iterator

from popcorn.verify.static.remark import Remark, remark

_CALLS = {
    "other-processes": {"os.kill", "os.killpg", "os.pidfd_open", "signal.pidfd_send_signal"},
    "caller": {"sys._getframe", "inspect.stack", "inspect.currentframe", "gc.get_objects", "gc.get_referrers", "sys.settrace", "sys.setprofile"},
    "threads": {
        "threading.Thread", "multiprocessing.Process", "os.fork", "subprocess.Popen", "subprocess.run", "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.ProcessPoolExecutor", "_thread.start_new_thread",
    },
    "stream": {"torch.cuda.Stream", "torch.cuda.stream", "torch.cuda.CUDAGraph", "torch.cuda.graph"},
    "settings": {
        "torch.set_num_threads", "torch.set_default_dtype", "torch.set_float32_matmul_precision", "torch.set_default_device",
        "torch.use_deterministic_algorithms", "torch.set_flush_denormal",
    },
    "dynamic": {"exec", "eval", "compile", "__import__", "importlib.import_module", "types.FunctionType"},
    "library": {
        "torch.matmul", "torch.mm", "torch.bmm", "torch.addmm", "torch.softmax", "torch.einsum", "torch.conv2d", "torch.compile",
        "torch.nn.functional.linear", "torch.nn.functional.softmax", "torch.nn.functional.layer_norm", "torch.nn.functional.rms_norm",
        "torch.nn.functional.scaled_dot_product_attention", "torch.nn.functional.conv1d", "torch.nn.functional.conv2d",
    },
    "files": {"open", "socket.socket", "socket.create_connection", "urllib.request.urlopen", "torch.save", "torch.load"},
}  # fmt: skip
_BY_CALL = {name: rule for rule, names in _CALLS.items() for name in names}
_CLOCKS = {"perf_counter", "perf_counter_ns", "monotonic", "time", "elapsed_time", "synchronize", "record", "Event"}
_LOWER = {"half", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"}
_HOOKS = {"__torch_function__", "__torch_dispatch__"}


def find(source: str) -> list[Remark]:
    """Every remark, by line. A text that does not parse gives one remark. Never raises."""
    try:
        tree = ast.parse(source.encode())  # bytes, read by their mark and `coding` line: no import hides in another encoding
        return sorted(_Reader(tree).read(), key=lambda one: (one.line, one.rule))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [remark("syntax", getattr(error, "lineno", None) or 1, type(error).__name__)]


class _Reader:
    def __init__(self, tree: ast.Module):
        self.tree = tree
        self.names: dict[str, str] = {}

    def read(self) -> Iterator[Remark]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                self.names |= {a.asname or a.name.partition(".")[0]: a.name if a.asname else a.name.partition(".")[0] for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                self.names |= {a.asname or a.name: f"{node.module or ''}.{a.name}" for a in node.names}
        for node in ast.walk(self.tree):
            yield from self._of(node)

    def _of(self, node: ast.AST) -> Iterator[Remark]:
        match node:
            case ast.Import():
                for alias in node.names:
                    if alias.name.partition(".")[0] == "popcorn":
                        yield remark("harness", node.lineno, alias.name)
            case ast.ImportFrom():
                sizes = node.module == "popcorn.suites.jitter" and all(
                    alias.name == "Dim" for alias in node.names
                )  # as a problem's file has it
                if (node.module or "").partition(".")[0] == "popcorn" and not sizes:
                    yield remark("harness", node.lineno, node.module or "")
            case ast.Call():
                name = self._dotted(node.func)
                if name in _BY_CALL:
                    yield remark(_BY_CALL[name], node.lineno, name)
                elif name.startswith("torch.ops.aten."):
                    yield remark("library", node.lineno, name)
                elif isinstance(node.func, ast.Attribute) and node.func.attr in _LOWER:
                    yield remark("lower-precision", node.lineno, f".{node.func.attr}()")
                elif name in ("setattr", "delattr") and node.args and self._imported(node.args[0]):
                    yield remark("patching", node.lineno, f"{name}({self._dotted(node.args[0])}, …)")
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Delete():
                targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
                for target in targets:
                    yield from self._assigned(target)
            case ast.BinOp(op=ast.MatMult()):
                yield remark("library", node.lineno, "@")
            case ast.ExceptHandler():
                everything = node.type is None or self._dotted(node.type) in ("Exception", "BaseException")
                if everything and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
                    yield remark("swallowed", node.lineno, "except " + (self._dotted(node.type) if node.type else ""))
            case ast.ClassDef():
                for base in node.bases:
                    if self._dotted(base) in ("torch.Tensor", "torch._C.TensorBase"):
                        yield remark("lazy", node.lineno, f"class {node.name}({self._dotted(base)})")
            case ast.FunctionDef():
                if node.name in _HOOKS:
                    yield remark("lazy", node.lineno, node.name)
            case ast.Attribute():
                if node.attr in ("__code__", "__closure__", "f_back", "f_locals", "f_globals"):
                    yield remark("caller", node.lineno, f".{node.attr}")
                elif node.attr in _LOWER and self._dotted(node).startswith("torch."):
                    yield remark("lower-precision", node.lineno, self._dotted(node))

    def _assigned(self, target: ast.expr) -> Iterator[Remark]:
        for inner in ast.walk(target):
            if not isinstance(inner, ast.Attribute) or not isinstance(inner.ctx, ast.Store | ast.Del):
                continue
            name = self._dotted(inner)
            if name.startswith(("torch.backends.", "torch.set_")):
                yield remark("settings", inner.lineno, name)
            elif self._imported(inner.value):
                yield remark("clock" if inner.attr in _CLOCKS else "patching", inner.lineno, name or f".{inner.attr}")

    def _imported(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.names

    def _dotted(self, node: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        name = ".".join([self.names.get(node.id, node.id), *reversed(parts)])
        return name.replace("torch.nn.functional.F.", "torch.nn.functional.")


def texts_in(source: str) -> list[tuple[int, str]]:
    """(line, text) of every string that looks like C, C++ or CUDA: what load_inline or NVRTC will compile."""
    try:
        tree = ast.parse(source.encode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = [(n.lineno, n.value) for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [(line, text) for line, text in found if "{" in text and (";" in text) and ("(" in text) and len(text) > 40]
