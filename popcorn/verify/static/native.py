"""Remarks on a C, C++ or CUDA text, from tree-sitter's syntax tree, broken code included. Free of torch."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from popcorn.verify.static.remark import Remark, remark

_CALLS = {
    "other-processes": {"kill", "killpg", "tgkill", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_open", "pidfd_send_signal"},
    "threads": {"fork", "vfork", "clone", "pthread_create", "system", "popen", "execve", "execvp", "posix_spawn", "std::thread", "std::async"},
    "stream": {"cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority", "cudaStreamBeginCapture", "cudaGraphLaunch"},
    "settings": {"cudaDeviceSetLimit", "cudaCtxResetPersistingL2Cache", "cudaStreamSetAttribute", "omp_set_num_threads", "sched_setaffinity"},
    "files": {"open", "fopen", "socket", "connect", "shm_open", "mmap"},
    "caller": {"dlsym", "dlopen", "PyGILState_Ensure", "PyRun_SimpleString"},
}  # fmt: skip
_BY_CALL = {name: rule for rule, names in _CALLS.items() for name in names}
_LIBRARIES = (
    "cublas",
    "cudnn",
    "at::",
    "torch::matmul",
    "torch::mm",
    "torch::softmax",
    "torch::nn::functional",
    "cusparse",
    "cufft",
    "thrust::",
    "cub::",
)


def find(source: str, first_line: int = 1) -> list[Remark]:
    """Every remark, by line; `first_line` is the line of the text's first line in its file. Never raises."""
    data = source.encode("utf-8", "replace")
    tree = _parser().parse(data)
    found = list(_walk(tree.root_node, data, first_line))
    if tree.root_node.has_error:
        found.append(remark("syntax", first_line, "tree-sitter found an error"))
    return sorted(found, key=lambda one: (one.line, one.rule))


@cache
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def _walk(root: Any, data: bytes, first_line: int) -> Iterator[Remark]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        line = node.start_point[0] + first_line
        if node.type == "call_expression":
            yield from _call(_text(node.child_by_field_name("function"), data), line)
        elif node.type in ("declaration", "qualified_identifier"):
            name = _text(node.child_by_field_name("type") if node.type == "declaration" else None, data)
            if name in ("std::thread", "std::jthread"):
                yield remark("threads", line, name)
        elif node.type == "catch_clause" and "..." in _text(node.child_by_field_name("parameters"), data):
            yield remark("swallowed", line, "catch (...)")


def _call(name: str, line: int) -> Iterator[Remark]:
    plain = name.removeprefix("::")
    if plain in _BY_CALL:
        yield remark(_BY_CALL[plain], line, plain)
    elif plain.startswith(_LIBRARIES):
        yield remark("library", line, plain)


def _text(node: Any, data: bytes) -> str:
    return "" if node is None else data[node.start_byte : node.end_byte].decode("utf-8", "replace")
