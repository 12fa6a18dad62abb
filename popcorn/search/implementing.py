"""Writing an adopted kernel as an implementation file: the kernel as it was judged, beside a few lines that say what it takes and whence it came."""

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path

from popcorn import __version__
from popcorn.errors import BadSearch
from popcorn.search.assumptions import Assumptions
from popcorn.search.winners import Winner, told
from popcorn.toolchain.languages import SUFFIX, is_python

_TEXT = '''"""{op} by {name}: {origin}. Adopted, not written here; needs torch."""

from pathlib import Path

from popcorn.ops.adopted import Takes, adopted

LANGUAGE = {language!r}
MULTIPLES = {multiples!r}
PROVENANCE = {provenance}
TAKES = Takes(
    device={device!r},
    precisions={precisions!r},
    gradient={gradient!r},
    gradients={gradients!r},
    multiples=MULTIPLES,
    bounds={bounds!r},
    scalars={scalars!r},
)

run, accepts, SOURCE, traced = adopted({op!r}, Path(__file__).with_name({file!r}), LANGUAGE, TAKES)
'''


def implementation_name(winner: Winner, asked: str | None) -> str:
    """`evolve_1f0c33` by the text's hash, or the name asked for. Raises BadSearch for one that is no name."""
    name = asked or f"evolve_{text_hash(winner.source)[:6]}"
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name) or name in ("torch", "inductor"):
        raise BadSearch(f"{name!r} cannot name an implementation; expected small letters, digits and _, such as evolve_rows.")
    return name


def text_hash(source: str) -> str:
    """16 hex digits of the text."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def write_implementation(folder: Path, op: str, name: str, winner: Winner, found: Assumptions, device: str) -> list[Path]:
    """Write `impl_<name>.py` and the kernel's file; the files written, the implementation last. Raises BadSearch where one is there already."""
    python = winner.language not in ("c", "sycl") and is_python("kernel", winner.source)
    file = f"{name}_kernel.py" if python else f"{name}{SUFFIX[winner.language]}"
    there = folder / f"impl_{name}.py"
    if there.exists():
        raise BadSearch(f"{there} exists; choose another name with --name, or remove it first.")
    provenance = {
        **winner.origin, "problem": winner.problem or "", "source": text_hash(winner.source), "harness": __version__,
        "adopted": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    text = _TEXT.format(
        op=op, name=name, origin=_plain(f"{winner.origin.get('kind')} {winner.origin.get('id')}, {told(winner.origin)}"), language=winner.language,
        multiples=found.multiples, provenance=json.dumps(provenance, indent=4), device=device, precisions=found.precisions, gradient=found.gradient, gradients=found.gradients,
        bounds=found.bounds, scalars=found.fixed, file=file,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(winner.source, encoding="utf-8")
    there.write_text(text, encoding="utf-8")
    return [folder / file, there]


def _plain(text: str) -> str:
    return re.sub(r"[^\w ,./:+-]", "_", text)[:160]
