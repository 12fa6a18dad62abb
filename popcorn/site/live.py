"""Following a fill while it measures: the protocol, a client of it, and the row that pages show of an op's record.

A fill serves `GET /events` on 127.0.0.1 as server-sent events: a `hello` event first, then one `record` event for each row, whose data is
the record's JSON on one line, `id:` its record id; a comment line every few seconds keeps the connection; `done` before it ends. The page's
client is static/live.js. docs/site.md writes it down for whoever serves.
"""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from popcorn.errors import BadRecord, MissingFile
from popcorn.records.migrations import read_record
from popcorn.schema.record import Record

PORT = 8765
PATH = "/events"
HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Private-Network": "true",
}
"""What a server answers with. It refuses other origins than this machine's before it comes to these; a page from a disk has none to name."""

ROW_COLUMNS = (
    "id", "implementation", "layout", "scalars", "version", "outcome", "reason", "time_s", "low_s", "high_s", "baseline_time_s", "speedup",
    "speedup_low", "speedup_high", "fit", "peak_bytes", "baseline_peak_bytes", "sol", "bytes_per_s", "flop_per_s", "peak_bytes_per_s",
    "peak_flop_per_s", "min_bytes", "flops", "made", "judgement", "store",
)  # fmt: skip
"""What the explorer shows of an op's row, beside its sizes, device, element type and gradient mode."""

LARGEST_EVENT = 64 << 20


class Event(NamedTuple):
    """One event of a fill."""

    kind: Literal["hello", "record", "done"]
    record: Record | None = None
    """Of a `record` event."""


def encode(event: Event) -> bytes:
    """The event as a server sends it."""
    if event.record is None:
        return f"event: {event.kind}\ndata: {{}}\n\n".encode()
    return f"event: record\nid: {event.record.id}\ndata: {event.record.model_dump_json()}\n\n".encode()


def follow(port: int = PORT, timeout_s: float = 60.0) -> Iterator[Event]:
    """Events of the fill on this port until it ends. Raises MissingFile where nobody listens, BadRecord on a line that is no record."""
    try:
        answer = urllib.request.urlopen(f"http://127.0.0.1:{port}{PATH}", timeout=timeout_s)
    except OSError as error:
        raise MissingFile(f"no fill listens on port {port} ({error}); start one with `popcorn bench fill OP --live {port}`.") from None
    with answer:
        kind, data = "message", b""
        for line in iter(lambda: answer.readline(LARGEST_EVENT), b""):
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            if not line.strip():
                if kind == "record":
                    yield Event("record", _record(data))
                elif kind == "hello":
                    yield Event("hello")
                elif kind == "done":
                    yield Event("done")
                    return
                kind, data = "message", b""
            elif name == b"event":
                kind = value.strip().decode("utf-8", "replace")
            elif name == b"data":
                data += value.strip()


def _record(data: bytes) -> Record:
    try:
        return read_record(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"the fill sent a line that is no record ({type(error).__name__}); is it another Popcorn's?") from None


def row_of_table(row: dict[str, Any], store: str) -> dict[str, Any]:
    """The explorer's row of a table's row."""
    dims = row["case_dims"]
    scalars = row["case_scalars"]
    return {
        "id": row["id"], "device": row["machine_device_id"], "precision": row["case_precision"], "gradient": row["case_gradient"],
        "dims": dict(json.loads(dims) if isinstance(dims, str) else dims or {}), "implementation": row["implementation"],
        "layout": row["case_layout"], "scalars": scalars if isinstance(scalars, str) else json.dumps(scalars or {}),
        "version": f"torch {row['machine_torch'] or 'unknown'} · popcorn {row['harness']}", "outcome": row["outcome"],
        "reason": (row["verdict_reason"] or "")[:300] or None, "time_s": row["time_s"], "low_s": row["low_s"], "high_s": row["high_s"],
        "baseline_time_s": row["baseline_time_s"], "speedup": row["speedup"], "speedup_low": row["speedup_low"],
        "speedup_high": row["speedup_high"], "fit": row["control_fit"], "peak_bytes": row["memory_peak_bytes"],
        "baseline_peak_bytes": row["memory_baseline_peak_bytes"], "sol": row["sol"], "bytes_per_s": row["roofline_bandwidth_bytes_per_s"],
        "flop_per_s": row["roofline_flop_per_s"], "peak_bytes_per_s": row["roofline_peak_bandwidth_bytes_per_s"],
        "peak_flop_per_s": row["roofline_peak_flop_per_s"], "min_bytes": row["roofline_min_bytes"], "flops": row["roofline_flops"],
        "made": row["made"], "judgement": row["judgement"], "store": store,
    }  # fmt: skip
