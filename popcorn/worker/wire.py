"""JSON messages in length-prefixed frames over a socket. Nothing that arrives is ever unpickled or executed."""

import json
import math
import socket
import struct
import time
from typing import Any

MAX_FRAME_BYTES = 32 << 20
_HEADER = struct.Struct(">I")


class Closed(Exception):
    """The other end is gone."""


class TimedOut(Exception):
    """Nothing complete arrived before the deadline."""


class Malformed(Exception):
    """What arrived is not a message: too long, not JSON, not an object."""


class Channel:
    """One end of a conversation. Not thread-safe: one thread asks at a time."""

    def __init__(self, sock: socket.socket):
        self._sock = sock

    def send(self, message: dict[str, Any], deadline: float | None = None) -> None:
        """Raises Closed when the other end is gone, TimedOut when it has not taken the message by `deadline` (on time.monotonic())."""
        body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
        if len(body) > MAX_FRAME_BYTES:
            raise Malformed(f"a message of {len(body)} bytes is over the limit of {MAX_FRAME_BYTES}")
        try:
            self._sock.settimeout(_remaining(deadline))
            self._sock.sendall(_HEADER.pack(len(body)) + body)
        except TimeoutError as error:
            raise TimedOut("the other end did not read before the deadline") from error
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self, deadline: float | None = None) -> dict[str, Any]:
        """The next message. `deadline` is on time.monotonic(); raises TimedOut, Closed or Malformed."""
        (length,) = _HEADER.unpack(self._read(_HEADER.size, deadline))
        if length > MAX_FRAME_BYTES:
            raise Malformed(f"a frame of {length} bytes is over the limit of {MAX_FRAME_BYTES}")
        body = self._read(length, deadline)
        try:
            message = json.loads(body, parse_constant=_refuse_constant, parse_float=_finite)
            if b"\\ud" in body.lower():  # half a surrogate pair is no text and could not be written to a record
                message = json.loads(json.dumps(message, ensure_ascii=False).encode(errors="replace"))
        except (ValueError, RecursionError) as error:
            raise Malformed(f"not JSON: {error}") from error
        if not isinstance(message, dict):
            raise Malformed(f"expected an object, got {type(message).__name__}")
        return message

    def close(self) -> None:
        """Closes this end; the other one then sees Closed."""
        self._sock.close()

    def _read(self, count: int, deadline: float | None) -> bytes:
        parts = []
        while count:
            try:
                self._sock.settimeout(_remaining(deadline))
                part = self._sock.recv(min(count, 1 << 20))
            except TimeoutError as error:
                raise TimedOut("no answer before the deadline") from error
            except OSError as error:
                raise Closed(str(error)) from error
            if not part:
                raise Closed("the other end closed the connection")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def _remaining(deadline: float | None) -> float | None:
    """Seconds that are left; TimedOut when none are, however fast the other end sends."""
    if deadline is None:
        return None
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimedOut("the deadline has passed")
    return seconds


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is no finite number")
    return value


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
