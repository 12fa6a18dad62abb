"""Behaviour of C, C++, CUDA and SYCL texts, from tree-sitter's tree, broken code included."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from popcorn.search.program import Cell

_VECTOR = re.compile(
    r"(?:float|double|half|int|uint|uchar|char|longlong|nv_bfloat16|__half|__nv_bfloat16)[248]|__m(?:128|256|512)[id]?|__v\d+\w+"
)
_WIDE = re.compile(r"_mm\d*_\w*(?:load|store)\w*|__ldg|__ldcs|__stcs|__builtin_assume_aligned")
_STAGED = re.compile(r"__builtin_prefetch|_mm_prefetch|(?:cuda::)?memcpy_async|__pipeline_\w+|cp_async\w*|cuTensorMap\w*|cde::\w+")
_MATRIX = re.compile(r"(?:nvcuda::)?wmma::\w*mma_sync|mma_sync|__builtin_ia32_t?dp\w+|_tile_dp\w+|_mm\d+_dpbusd\w*")
_WARP = re.compile(
    r"__shfl\w*|__ballot_sync|__reduce_\w+_sync|__any_sync|__all_sync|__match_\w+|__syncwarp|shfl_\w+|reduce|(?:reduce|joint_reduce|shift|select|permute)_(?:over_group|group_\w+|from_group\w*)"
)
_BARRIER = re.compile(r"__syncthreads(?:_\w+)?|(?:\w+\.)?sync|cg::sync|(?:sycl::)?group_barrier|\w+\.barrier")
_GRID = re.compile(r"cg::this_(?:grid|cluster)|(?:cooperative_groups::)this_(?:grid|cluster)|cudaLaunchCooperativeKernel|__cluster_\w+")
_ASSEMBLY = (("cp.async", "staged"), ("mma.sync", "matrix"), ("wgmma", "matrix"), ("barrier.cluster", "grid"))


@dataclass
class _Seen:
    """What stands in a text."""

    flags: set[str] = field(default_factory=set)
    arrays: dict[str, int] = field(default_factory=dict)
    """Local arrays by name → number of sizes."""
    passes: int = 0
    """Most loops beside each other in one block."""
    depth: int = 0
    """Deepest nest of loops."""
    accumulators: set[str] = field(default_factory=set)
    """Arrays that a compound assignment adds into, within a loop."""


def describe(source: str, gpu: bool = False) -> Cell:
    """(memory, compute, parallelism)."""
    root = parse(source)
    seen = _Seen()
    _read(root, seen)
    return _memory(seen), _compute(seen), _parallelism(seen, gpu)


def parse(source: str) -> Any:
    """The root node of a C, C++ or CUDA text."""
    return _parser().parse(source.encode("utf-8", "replace")).root_node


@cache
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def text_of(node: Any) -> str:
    """A node's text, bounded."""
    return "" if node is None else node.text[:4000].decode("utf-8", "replace")


def _memory(seen: _Seen) -> int:
    blocked = "shared" in seen.flags or "tiles" in seen.flags
    if blocked and ("staged" in seen.flags or ("shared" in seen.flags and seen.arrays) or "packed" in seen.flags):
        return 3
    if blocked:
        return 2
    return 1 if seen.flags & {"vector", "wide", "simd", "staged"} else 0


def _compute(seen: _Seen) -> int:
    tile = any(sizes >= 2 for name, sizes in seen.arrays.items() if name in seen.accumulators)
    if "matrix" in seen.flags or tile:
        return 3
    if seen.accumulators & set(seen.arrays) or seen.flags & {"reduction", "warp"}:
        return 2
    return 1 if seen.passes <= 2 else 0


def _parallelism(seen: _Seen, gpu: bool) -> int:
    if gpu or "global" in seen.flags:
        barrier, warp = "barrier" in seen.flags, bool(seen.flags & {"warp", "matrix"})
        return 3 if "grid" in seen.flags or (barrier and warp) else 2 if warp else 1 if barrier else 0
    simd, threads = bool(seen.flags & {"simd", "vector"}), "threads" in seen.flags
    return 3 if simd and threads else 2 if threads else 1 if simd else 0


def _read(root: Any, seen: _Seen) -> None:
    waiting: list[tuple[Any, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        loop = node.type in ("for_statement", "while_statement", "do_statement", "for_range_loop")
        if loop:
            depth += 1
            seen.depth = max(seen.depth, depth)
        if node.type == "compound_statement":
            seen.passes = max(seen.passes, sum(1 for inner in node.named_children if inner.type in ("for_statement", "while_statement")))
        for flag in _flags(node, seen, depth):
            seen.flags.add(flag)
        waiting += [(inner, depth) for inner in node.named_children]


def _flags(node: Any, seen: _Seen, depth: int) -> Iterator[str]:
    kind = node.type
    if kind == "preproc_call":
        words = set(re.findall(r"\w+", re.sub(r"//.*|/\*.*?\*/", " ", text_of(node))))
        if "omp" in words or "_Pragma" in words:
            yield from (flag for word, flag in (("simd", "simd"), ("parallel", "threads"), ("reduction", "reduction")) if word in words)
    elif kind in ("type_identifier", "primitive_type") and _VECTOR.fullmatch(text_of(node)):
        yield "vector"
    elif (kind == "type_identifier" and text_of(node) == "local_accessor") or (kind == "identifier" and text_of(node) == "__shared__"):
        yield "shared"
    elif kind == "call_expression":
        yield from _of_call(text_of(node.child_by_field_name("function")))
    elif kind in ("gnu_asm_expression", "asm_statement"):
        said = text_of(node)
        yield from (flag for word, flag in _ASSEMBLY if word in said)
    elif kind == "attribute_specifier" and "vector_size" in text_of(node):
        yield "vector"
    elif kind == "for_statement":
        yield from _of_loop(node, depth)
    elif kind == "declaration":
        _note_arrays(node, seen)
        if any(text_of(child) == "__shared__" for child in node.children):
            yield "shared"
    elif kind == "assignment_expression" and depth and text_of(node.child_by_field_name("operator")) in ("+=", "-=", "*="):
        left = node.child_by_field_name("left")
        while left is not None and left.type == "subscript_expression":
            left = left.child_by_field_name("argument")
            if left is not None and left.type == "identifier":
                seen.accumulators.add(text_of(left))
    elif kind == "function_definition":
        words = {text_of(child) for child in node.children if child.type not in ("compound_statement", "function_declarator")}
        if "__global__" in words:
            yield "global"


def _of_call(name: str) -> Iterator[str]:
    for flag, pattern in (("wide", _WIDE), ("staged", _STAGED), ("matrix", _MATRIX), ("barrier", _BARRIER), ("grid", _GRID)):
        if pattern.fullmatch(name):
            yield flag
    if _WARP.fullmatch(name.rpartition("::")[2]):
        yield "warp"
    if name.startswith(("_mm", "__builtin_ia32")):
        yield "vector"


def _of_loop(node: Any, depth: int) -> Iterator[str]:
    """A loop in steps larger than one that holds another loop works on tiles; copying into a local array inside it packs."""
    update = node.child_by_field_name("update")
    body = node.child_by_field_name("body")
    steps = update is not None and update.type == "assignment_expression" and text_of(update.child_by_field_name("right")) not in ("1", "")
    if not steps or body is None:
        return
    inside = [inner for inner in _below(body) if inner.type == "for_statement"]
    nested = [inner for inner in inside if any(deeper.type == "for_statement" for deeper in _below(inner) if deeper is not inner)]
    if nested:
        yield "tiles"
        if any(
            text_of(call.child_by_field_name("function")) in ("memcpy", "__builtin_memcpy")
            for call in _below(body)
            if call.type == "call_expression"
        ):
            yield "packed"


def _below(node: Any) -> Iterator[Any]:
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += found.named_children


def _note_arrays(node: Any, seen: _Seen) -> None:
    for child in node.named_children:
        inner = child.child_by_field_name("declarator") if child.type == "init_declarator" else child
        sizes = 0
        while inner is not None and inner.type == "array_declarator":
            sizes += 1
            inner = inner.child_by_field_name("declarator")
        if sizes and inner is not None and inner.type == "identifier":
            seen.arrays[text_of(inner)] = sizes
