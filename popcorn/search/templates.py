"""Declared parameters of a kernel: read from its comments, set in its text. No expression of a kernel is ever evaluated as code.

// popcorn: tune TILE = 16, 32, 64          a macro:  #define TILE 32
// popcorn: tune UNROLL = 1..8
// popcorn: where TILE * UNROLL <= 256
# popcorn: tune BLOCK = 128, 256, 512       Triton: `BLOCK = 256` at the top of the module, or `kernel[grid](…, BLOCK=256)`
"""

import ast
import itertools
import re
from dataclasses import dataclass

from popcorn.errors import BadSearch
from popcorn.toolchain.languages import is_python

Value = int | float | str | bool
Point = dict[str, Value]

MOST_VALUES = 64
_TUNE = re.compile(
    r"^[ \t]*(?://|#|/?\*)[ \t]*popcorn:[ \t]*tune[ \t]+([A-Za-z_]\w{0,60})[ \t]*=[ \t]*([^\n]*?)[ \t]*(?:\*/)?$", re.MULTILINE
)
_WHERE = re.compile(r"^[ \t]*(?://|#|/?\*)[ \t]*popcorn:[ \t]*where[ \t]+([^\n]{1,300}?)[ \t]*(?:\*/)?$", re.MULTILINE)
_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Name, ast.Load,
    ast.Constant, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
)  # fmt: skip


@dataclass(frozen=True)
class Template:
    """What a text declares."""

    values: dict[str, tuple[Value, ...]]
    """Parameter → values, as declared."""
    conditions: tuple[ast.Expression, ...]
    written: Point
    """The values that stand in the text."""

    def allows(self, point: Point) -> bool:
        """Whether every condition holds."""
        return all(bool(_value(condition.body, point)) for condition in self.conditions)

    def points(self, most: int = 4096) -> list[Point]:
        """Allowed points, in order; at most so many of the product are looked at."""
        rows = itertools.islice(itertools.product(*self.values.values()), most)
        return [point for row in rows if self.allows(point := dict(zip(self.values, row, strict=True)))]


def read_template(source: str) -> Template | None:
    """The declared parameters that the text also sets; None where there are none. Raises BadSearch for a declaration that cannot be read."""
    values = {name: _values(name, text) for name, text in _TUNE.findall(source)}
    written = {name: now for name in values if (now := _written(source, name)) is not None}
    if not written:
        return None
    conditions = tuple(_condition(text, values) for text in _WHERE.findall(source))
    return Template({name: values[name] for name in written}, conditions, written)


def set_parameters(source: str, point: Point) -> str:
    """The text with these values. Raises BadSearch where a name is not set in the text."""
    for name, value in point.items():
        where = _places(source, name)
        if not where:
            raise BadSearch(f"the parameter {name} is declared and nowhere set: expected `#define {name} …` or `{name} = …`.")
        for start, end in reversed(where):
            source = (
                source[:start]
                + (str(int(value)) if isinstance(value, bool) and not is_python("kernel", source) else _spelt(value))
                + source[end:]
            )
    return source


def _spelt(value: Value) -> str:
    return repr(value) if isinstance(value, str) and not value.isidentifier() else str(value)


def _values(name: str, text: str) -> tuple[Value, ...]:
    span = re.fullmatch(r"(-?\d+)\s*\.\.\s*(-?\d+)", text.strip())
    if span:
        low, high = int(span[1]), int(span[2])
        found: tuple[Value, ...] = tuple(range(low, min(high, low + MOST_VALUES) + 1))
    else:
        found = tuple(_literal(part.strip()) for part in text.split(",") if part.strip())
    if not 1 <= len(found) <= MOST_VALUES + 1:
        raise BadSearch(f"the parameter {name} = {text[:80]!r}: expected 1 to {MOST_VALUES} values, `16, 32, 64` or `1..8`.")
    return found


def _literal(text: str) -> Value:
    if re.fullmatch(r"-?\d{1,12}", text):
        return int(text)
    if re.fullmatch(r"-?\d{1,12}\.\d{1,12}", text):
        return float(text)
    if text in ("True", "False", "true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"[A-Za-z_][\w ]{0,40}", text):
        return text
    raise BadSearch(f"{text[:60]!r} is no value of a parameter; expected a number, a name, true or false.")


def _places(source: str, name: str) -> list[tuple[int, int]]:
    if not is_python("kernel", source):
        return [
            match.span(1) for match in re.finditer(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}[ \t]+([^\s/]+)", source, re.MULTILINE)
        ]
    starts = [0, *itertools.accumulate(len(line) + 1 for line in source.split("\n"))]

    def span(node: ast.expr) -> tuple[int, int]:
        line, last = source.split("\n")[node.lineno - 1], source.split("\n")[(node.end_lineno or 1) - 1]
        first = len(line.encode()[: node.col_offset].decode())
        return starts[node.lineno - 1] + first, starts[(node.end_lineno or 1) - 1] + len(last.encode()[: node.end_col_offset].decode())

    tree, found = ast.parse(source), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            found += [span(k.value) for k in node.keywords if k.arg == name and isinstance(k.value, ast.Constant)]
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in statement.targets):
            found += [span(statement.value)] if isinstance(statement.value, ast.Constant) else []
    return sorted(found)


def _written(source: str, name: str) -> Value | None:
    where = _places(source, name)
    if not where:
        return None
    try:
        return _literal(source[where[0][0] : where[0][1]].strip("'\""))
    except BadSearch:
        return None


def _condition(text: str, values: dict[str, tuple[Value, ...]]) -> ast.Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadSearch(f"`where {text[:80]}` cannot be read; expected something like `TILE * UNROLL <= 256`.") from None
    wrong = [node for node in ast.walk(tree) if not isinstance(node, _ALLOWED)]
    unknown = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in values]
    large = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and not isinstance(node.value, int)]
    if wrong or unknown or large:
        raise BadSearch(f"`where {text[:80]}`: only declared parameters, whole numbers, + - * // % and comparisons may stand in it.")
    return tree


def _value(node: ast.AST, point: Point) -> float:
    match node:
        case ast.BoolOp():
            found = [bool(_value(one, point)) for one in node.values]
            return all(found) if isinstance(node.op, ast.And) else any(found)
        case ast.Compare():
            values = [_value(one, point) for one in (node.left, *node.comparators)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False))
        case ast.BinOp():
            left, right = _value(node.left, point), _value(node.right, point)
            if isinstance(node.op, ast.FloorDiv | ast.Mod) and right == 0:
                return 0
            return _OPERATE[type(node.op)](left, right)
        case ast.Name():
            value = point[node.id]
            return float("nan") if isinstance(value, str) else value
        case ast.Constant():
            return node.value  # type: ignore[return-value]
    raise AssertionError(node)


_COMPARE = {
    ast.Lt: lambda a, b: a < b, ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b,
}  # fmt: skip
_OPERATE = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b,
}  # fmt: skip
