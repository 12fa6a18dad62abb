"""Matrix: a sweep as its TOML file asks for it. Strict: an unknown key is an error that names the nearest one. Imports no torch."""

from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from popcorn.errors import BadSweep
from popcorn.reading import read_toml, what_is_wrong
from popcorn.schema.case import Frozen, Precision
from popcorn.toolchain.languages import LANGUAGES

MAX_DEPTH = 8
"""Files that may extend one another."""


class Strict(Frozen):
    """A table of the file: no key but these."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Budgets(Strict):
    """What one run may spend; what is left out is the tier's own."""

    turns: int | None = Field(default=None, ge=1)
    tool_calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=1)
    dollars: float | None = Field(default=None, ge=0)


class Retries(Strict):
    """How often a job is tried again, by what went wrong. Timeouts and wrong kernels are results and are never tried again."""

    api_error: int = Field(default=2, ge=0, le=20)
    """The provider failed after its own retries."""
    infrastructure: int = Field(default=2, ge=0, le=20)
    """A fault of ours."""


class Limits(Strict):
    """Where the whole sweep stops; it can be resumed with more."""

    jobs: int | None = Field(default=None, ge=1)
    """Jobs of the matrix, the first ones in its order."""
    hours: float | None = Field(default=None, gt=0)
    """Wall clock of one session."""
    dollars: float | None = Field(default=None, ge=0)
    """Money in all; runs whose price is unknown are not counted, and the plan says so."""


class Phases(Strict):
    """An op sweep: implementations over cases."""

    ops: tuple[str, ...] = ()
    """Ops of the library; all of them when empty."""
    phases: tuple[str, ...] = ("reference", "popcorn", "cudnn", "fa3", "fla", "liger", "quack", "transformer_engine", "unsloth")
    """Backends in order; each has an environment of its own."""
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    curves_only: bool = False
    """Leave the sparse coverage out."""
    limit: int | None = Field(default=None, ge=1)
    """So many cases of each op, the same ones every time."""
    reps: int = Field(default=1, ge=1, le=20)
    """Rows of each case."""


class Matrix(Strict):
    """One sweep."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$")
    summary: str = ""
    variants: tuple[Literal["popcorn", "original"], ...] = ()
    levels: tuple[int, ...] = ()
    problems: tuple[str | int, ...] = ()
    """Ids, paths, or numbers within the levels; all problems of the levels when empty."""
    models: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    language: str = "auto"
    precision: Precision = "float32"
    repeats: int = Field(default=1, ge=1, le=1000)
    """Independent runs of each question."""
    trials: int = Field(default=8, ge=5, le=1000)
    """Correctness trials of each evaluation."""
    budget_s: float = Field(default=10.0, gt=0, le=3600)
    """Seconds of taking turns with the reference in each evaluation."""
    timeout_s: float = Field(default=60.0, gt=0)
    """Longest that one command to a candidate may take."""
    build_timeout_s: float = Field(default=300.0, gt=0)
    compile_baseline: bool = True
    control: bool = True
    """The A/A and planted controls of each evaluation."""
    agents_per_gpu: int = Field(default=4, ge=1, le=64)
    worker_timeout_s: float | None = Field(default=None, gt=0)
    """Wall clock of one run; the tier's own when left out."""
    device: str = "auto"
    devices: int = Field(default=1, ge=1, le=64)
    """Devices that one job gets at once."""
    models_file: str | None = None
    """More rows of models, beside this file."""
    tiers_file: str | None = None
    model: dict[str, dict[str, Any]] = {}
    """Rows of models written here: `[model.NAME]` as in models.toml."""
    budgets: Budgets = Budgets()
    retries: Retries = Retries()
    limits: Limits = Limits()
    ops: Phases | None = None
    """An op sweep instead of agents over problems."""

    @property
    def kind(self) -> Literal["agents", "ops"]:
        """What it sweeps over."""
        return "agents" if self.ops is None else "ops"


def read_matrix(path: str | Path, **over: Any) -> Matrix:
    """The matrix of a file, over what it `extends`; `over` replaces top keys. Raises BadSweep."""
    found = Path(path)
    if not found.is_file() and not found.suffix:
        found = Path("sweeps") / f"{path}.toml"
        if not found.is_file():
            raise BadSweep(f"there is no sweep {path}; expected a TOML file, or a name in sweeps/{_named()}.")
    tables = _read(found, ())
    tables.setdefault("name", found.stem.replace(".", "_"))
    tables |= {name: value for name, value in over.items() if value is not None}
    for name in ("models_file", "tiers_file"):
        if isinstance(tables.get(name), str):
            tables[name] = str((found.parent / tables[name]).resolve())
    return make_matrix(tables, str(found))


def _named() -> str:
    names = sorted(one.stem for one in Path("sweeps").glob("*.toml") if one.stem not in ("base", "campaign"))
    return f": {', '.join(names)}" if names else ", a folder of Popcorn's repository that is not here: run it in a clone"


def make_matrix(tables: dict[str, Any], where: str) -> Matrix:
    """Validated. Raises BadSweep with the key, what was expected, and for an unknown key the nearest one."""
    try:
        matrix = Matrix.model_validate(tables)
    except ValidationError as error:
        raise BadSweep(f"{where}: {what_is_wrong(error, Matrix, also=('extends',))}.") from None
    if matrix.language not in ("auto", *LANGUAGES):
        raise BadSweep(f"{where}: language is {matrix.language!r}; expected one of auto, {', '.join(LANGUAGES)}.")
    if matrix.kind == "agents":
        missing = [name for name in ("models", "tiers") if not getattr(matrix, name)]
        if not (matrix.levels or matrix.problems):
            missing.append("levels or problems")
        if missing:
            raise BadSweep(
                f"{where}: {', '.join(missing)} missing; a sweep of agents names models, tiers and problems (levels = [1, 2, 3, 4] are all), an op sweep has [ops]."
            )
    return matrix


def _read(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    here = path.resolve()
    if here in above or len(above) >= MAX_DEPTH:
        raise BadSweep(f"{path} extends itself, by {' → '.join(one.name for one in (*above, here))}; take one `extends` out.")
    tables = read_toml(
        path, lambda why: BadSweep(f"{path} cannot be read as a sweep ({why}); expected a TOML file such as sweeps/smoke.toml.")
    )
    parent = tables.pop("extends", None)
    if parent is None:
        return tables
    if not isinstance(parent, str):
        raise BadSweep(f'{path}: extends is {parent!r}; expected the name of one file, such as extends = "base.toml".')
    beside, named = path.parent / parent, Path("sweeps") / parent
    if not beside.is_file() and not named.is_file():
        raise BadSweep(f"{path} extends {parent}, which is neither beside it nor in sweeps/; give its path.")
    below = _read(beside if beside.is_file() else named, (*above, here))
    below.pop("name", None)
    return _over(below, tables)


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Tables merge, everything else is replaced."""
    merged = dict(below)
    for name, value in above.items():
        old = merged.get(name)
        merged[name] = _over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
