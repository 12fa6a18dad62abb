"""What a stranger may cost: who may ask, how often, how much at once. Plain ASGI, so that nothing is read of a body that is not wanted."""

import hashlib
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
OPEN = {"/healthz", "/openapi.json", "/docs"}
"""Paths that need no token."""


class Limits:
    """Around an app: 401 without a token, 429 above the rate, 413 above the size. A body of unknown length is counted as it arrives."""

    def __init__(self, app: Any, token: str, body_bytes: int = 1 << 20, per_minute: int = 6000, burst: int = 600):
        self.app, self.body_bytes, self.rate, self.burst = app, body_bytes, per_minute / 60, burst
        self._token = hashlib.sha256(token.encode()).digest()
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"authorization", b"")
        if scope["path"] not in OPEN and not self._known(given):
            await _refuse(
                send,
                401,
                "the token is another one" if given else "a token is needed: Authorization: Bearer TOKEN",
                [(b"www-authenticate", b"Bearer")],
            )
            return
        wait_s = self._rate(hashlib.sha256(given).digest())
        if wait_s:
            await _refuse(send, 429, f"too many requests; ask again in {wait_s:.0f} s", [(b"retry-after", str(int(wait_s) + 1).encode())])
            return
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.body_bytes:
            await _refuse(send, 413, f"the body is longer than {self.body_bytes:,} bytes")
            return
        await self._counted(scope, receive, send)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The body is read here, at most as long as allowed, and handed on whole."""
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.body_bytes:
                await _refuse(send, 413, f"the body is longer than {self.body_bytes:,} bytes")
                return
        given = False

        async def whole() -> dict[str, Any]:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, whole, send)

    def _known(self, given: bytes) -> bool:
        kind, _, token = given.partition(b" ")
        return kind.lower() == b"bearer" and hmac.compare_digest(hashlib.sha256(token.strip()).digest(), self._token)

    def _rate(self, who: bytes) -> float:
        """A bucket for each token; seconds to wait, or 0."""
        now = time.monotonic()
        left, at = self._buckets.pop(who, (float(self.burst), now))
        left = min(self.burst, left + (now - at) * self.rate)
        self._buckets[who] = (left - 1 if left >= 1 else left, now)
        while len(self._buckets) > 1024:
            self._buckets.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self.rate


async def _refuse(send: Send, status: int, detail: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = json.dumps({"detail": detail}).encode()
    sent = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *(headers or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})
