"""Scripted mutators: deterministic changes of C, C++ and CUDA texts by their parse tree. No model, no network, no cost.

They know nothing of a problem; most children are no better and some are wrong, as with any proposer. What they can do: set macros, add and
drop pragmas, unroll, exchange two loops, take another of several alternatives that a text offers for a part of itself:

    // popcorn: begin loops        one of several texts for this part is here
    // popcorn: end loops          the others are handed to `Alternatives`
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from popcorn.search.native_behaviour import parse, text_of
from popcorn.search.program import Proposal
from popcorn.search.strategies import Context
from popcorn.search.templates import read_template, set_parameters

Mutator = Callable[[str, random.Random], str | None]
"""(text, random) → changed text, or None where it does not apply."""

_PRAGMAS = ("#pragma omp simd", "#pragma omp parallel for", "#pragma GCC unroll 4", "#pragma GCC ivdep")
_TRIES = 8


@dataclass(frozen=True)
class Mutators:
    """A proposer of mutators: one of them, drawn, on the parent's text; sometimes a part of another elite is taken over."""

    mutators: Mapping[str, Mutator]
    steps: int = 1
    """Mutations of one proposal at most; more than one is drawn in a third of the cases."""
    name: str = "mutators"

    def propose(self, context: Context) -> Proposal:
        """A changed text; without one where nothing applied."""
        parent, rng = context.parent, context.rng
        if parent is None:
            return Proposal(source="", reason="there is no program to change; give a seed")
        names, source = sorted(self.mutators), parent.source
        done: list[str] = []
        wanted = 1 if self.steps == 1 or rng.random() < 2 / 3 else rng.randint(2, self.steps)
        for _ in range(_TRIES):
            name = rng.choice(names)
            made = self.mutators[name](source, rng)
            if made is not None and made != source:
                source = made
                done.append(name)
            if len(done) == wanted:
                break
        if source == parent.source:
            done.clear()  # one undid the other
        reason = None if done else "no mutator applies to this text"
        return Proposal(
            source=source if done else "", parents=(parent.id,), operator="repair" if context.repair else "+".join(done) or "mutate", reason=reason,
            cost_usd=0.0,
        )  # fmt: skip


def general() -> dict[str, Mutator]:
    """The mutators that apply to any native text."""
    return {"pragma": toggle_pragma, "macro": set_macro, "exchange": exchange_loops, "declared": set_declared, "restrict": add_restrict}


def toggle_pragma(source: str, rng: random.Random) -> str | None:
    """Put a pragma above a loop, or drop one."""
    loops = _loops(source)
    if not loops:
        return None
    data, loop = source.encode(), rng.choice(loops)
    start = data.rfind(b"\n", 0, loop.start_byte) + 1
    before = data[:start].decode()
    lines = before.split("\n")
    if len(lines) > 1 and lines[-2].lstrip().startswith("#pragma") and rng.random() < 0.5:
        return "\n".join([*lines[:-2], ""]) + data[start:].decode()
    if data[start : loop.start_byte].strip():
        return None  # the loop does not begin its line
    return f"{before}{rng.choice(_PRAGMAS)}\n{data[start:].decode()}"


def set_macro(source: str, rng: random.Random) -> str | None:
    """Double or halve a whole-number macro."""
    found = list(re.finditer(r"^(#define\s+[A-Z_]\w*\s+)(\d{1,5})\s*$", source, re.MULTILINE))
    if not found:
        return None
    one = rng.choice(found)
    value = max(1, int(one[2]) * 2 if rng.random() < 0.5 else int(one[2]) // 2)
    return source[: one.start(2)] + str(value) + source[one.end(2) :]


def set_declared(source: str, rng: random.Random) -> str | None:
    """Another value of one declared parameter."""
    template = read_template(source)
    if template is None:
        return None
    name = rng.choice(sorted(template.values))
    point = {**template.written, name: rng.choice(template.values[name])}
    return set_parameters(source, point) if template.allows(point) else None


def exchange_loops(source: str, rng: random.Random) -> str | None:
    """Exchange the heads of a loop and the loop that is all of its body; what that breaks, the judge finds."""
    pairs = [(outer, inner) for outer in _loops(source) if (inner := _only_loop(outer)) is not None]
    if not pairs:
        return None
    outer, inner = rng.choice(pairs)
    data = source.encode()
    heads = [(one.start_byte, one.child_by_field_name("body").start_byte) for one in (outer, inner)]
    (a, b), (c, d) = heads
    return (data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]).decode()


def add_restrict(source: str, rng: random.Random) -> str | None:
    """Promise that pointers of one element type do not overlap."""
    found = list(re.finditer(r"^(\s*(?:const\s+)?(?:float|double)\s*\*)(\s*\w+\s*=)", source, re.MULTILINE))
    if not found:
        return None
    one = rng.choice(found)
    return source[: one.end(1)] + " __restrict" + source[one.end(1) :]


def alternatives(part: str, texts: Sequence[str]) -> Mutator:
    """Replaces what stands between `popcorn: begin PART` and `popcorn: end PART` by another of the texts."""
    mark = re.compile(
        rf"(^[^\n]*popcorn: begin {re.escape(part)}[^\n]*\n)(.*?)(^[^\n]*popcorn: end {re.escape(part)}\b)", re.MULTILINE | re.DOTALL
    )

    def change(source: str, rng: random.Random) -> str | None:
        found = mark.search(source)
        if found is None:
            return None
        others = [text for text in texts if text.strip() != found[2].strip()]
        return source[: found.start(2)] + rng.choice(others).rstrip("\n") + "\n" + source[found.start(3) :] if others else None

    return change


def _loops(source: str) -> list[Any]:
    found, waiting = [], [parse(source)]
    while waiting:
        node = waiting.pop()
        if node.type == "for_statement" and node.child_by_field_name("body") is not None:
            found.append(node)
        waiting += node.named_children
    return sorted(found, key=lambda node: node.start_byte)


def _only_loop(loop: Any) -> Any:
    body = loop.child_by_field_name("body")
    inside = [node for node in body.named_children if node.type != "comment"] if body.type == "compound_statement" else [body]
    only = inside[0] if len(inside) == 1 and inside[0].type == "for_statement" else None
    return only if only is not None and text_of(only).strip() and only.child_by_field_name("body") is not None else None
