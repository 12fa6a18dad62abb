"""Serving a fill's rows while it measures: the other end of site.live, on 127.0.0.1 alone, read only, gone with the command.

A page of any other site could reach a port of this machine through its visitor's browser, so a request must name this machine as its host
(which a rebound DNS name does not), and its origin, where it has one, must be this machine or a page from a disk.
"""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from popcorn.errors import UnwritableStore
from popcorn.schema.record import Record
from popcorn.site.live import HEADERS, PATH, PORT, Event, encode

BEAT_S = 10.0
"""Longest silence on a connection."""
FOLLOWERS = 16
"""Most connections at once."""
FLUSH_S = 5.0
"""How long the end waits for followers that have not read everything."""
LOCAL = frozenset(("127.0.0.1", "localhost"))


class Stream:
    """The rows of one fill, for whoever follows it: those sent before it came, too. A context; leaving it ends every connection with `done`."""

    def __init__(self, port: int = PORT, beat_s: float = BEAT_S):
        """Port 0 takes a free one. Raises UnwritableStore for a port in use."""
        self.beat_s = beat_s
        self._rows: list[bytes] = []
        self._ended = False
        self._changed = threading.Condition()
        self.followers = 0
        try:
            self._server = _Server(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise UnwritableStore(f"port {port} cannot be used ({error.strerror}); choose another with --live PORT.") from error
        self._server.stream = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._server.server_address[1])

    def __enter__(self) -> "Stream":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.followers == 0, FLUSH_S)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def send(self, record: Record) -> None:
        """One row to every follower. Texts and raw samples stay in the store."""
        event = encode(Event("record", _slim(record)))
        with self._changed:
            self._rows.append(event)
            self._changed.notify_all()

    def admit(self) -> bool:
        """One more follower; False where there are too many, or the fill has ended."""
        with self._changed:
            if self.followers >= FOLLOWERS or self._ended:
                return False
            self.followers += 1
            return True

    def leave(self) -> None:
        """One follower less."""
        with self._changed:
            self.followers -= 1
            self._changed.notify_all()

    def events(self) -> Iterator[bytes]:
        """Everything that a follower gets, until the end; a comment line after each silence."""
        yield encode(Event("hello"))
        at = 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda at=at: len(self._rows) > at or self._ended, self.beat_s)  # type: ignore[misc]
                fresh, ended = self._rows[at:], self._ended
            at += len(fresh)
            yield from fresh
            if ended:
                yield encode(Event("done"))
                return
            if not fresh:
                yield b": still here\n\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a follower that does not read may not keep the command alive
    stream: Stream


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 30
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """The rows, until the fill ends."""
        refusal = self._refusal()
        if refusal is not None:
            self._answer(*refusal)
        elif not self.server.stream.admit():
            self._answer(503, "the fill has ended, or too many follow it")
        else:
            try:
                self._begin(200, HEADERS)
                for event in self.server.stream.events():
                    self.wfile.write(event)
                    self.wfile.flush()
            except OSError:
                self.close_connection = True  # the follower left: nothing is owed to it
            finally:
                self.server.stream.leave()

    def do_OPTIONS(self) -> None:
        """What a browser asks before it lets a page reach this machine."""
        refusal = self._refusal()
        if refusal is not None:
            self._answer(*refusal)
        else:
            self._begin(
                204, {**{name: value for name, value in HEADERS.items() if name != "Content-Type"}, "Access-Control-Allow-Methods": "GET"}
            )

    def _refuse_method(self) -> None:
        self._answer(405, "read only: GET alone", {"Allow": "GET, OPTIONS"})

    do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _refuse_method

    def _refusal(self) -> tuple[int, str] | None:
        """Why this request gets nothing."""
        if not _names_this_machine(f"//{self.headers.get('Host', '')}", self.server.stream.port):
            return 403, "the host must be 127.0.0.1"
        origin = self.headers.get("Origin")
        if origin not in (None, "null") and not _names_this_machine(origin):
            return 403, "only pages of this machine may follow a fill"
        return None if urlsplit(self.path).path == PATH else (404, f"rows are at {PATH}")

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _answer(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        self._begin(status, {"Content-Type": "text/plain; charset=utf-8", **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(f"{sentence}\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal belongs to the fill."""


def _names_this_machine(address: str, port: int | None = None) -> bool:
    try:
        parts = urlsplit(address)
        return parts.hostname in LOCAL and (port is None or parts.port == port) and parts.scheme in ("", "http", "https")
    except ValueError:
        return False


def _slim(record: Record) -> Record:
    """Without the texts and the raw samples, which are most of a record and none of a row."""
    measurement, timing = record.measurement, record.measurement.timing
    if timing is not None:
        sides = {
            name: one.model_copy(update={"blocks_s": ()})
            for name in ("candidate", "baseline", "compiled")
            if (one := getattr(timing, name))
        }
        measurement = measurement.model_copy(update={"timing": timing.model_copy(update=sides)})
    subject = record.subject.model_copy(update={"source": None, "reference": None})
    return record.model_copy(update={"subject": subject, "measurement": measurement})
