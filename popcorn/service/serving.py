"""Serving: the app on a socket, its figures on stderr now and then."""

import asyncio
import contextlib
import socket
import sys
from typing import Any

from popcorn.agents.place import Place
from popcorn.errors import BadService
from popcorn.records.store import Store
from popcorn.service.app import make_app
from popcorn.service.jobs import Jobs
from popcorn.service.limits import Limits

TOLD_EVERY_S = 60.0


def build(
    places: list[Place], stores: list[Store], token: str, unofficial: list[Place] | None = None, **limits: int
) -> tuple[Limits, Jobs]:
    """The app within its limits, and its jobs."""
    jobs = Jobs(places, unofficial)
    return Limits(make_app(jobs, stores), token, **limits), jobs


def check_port(host: str, port: int) -> None:
    """Before anything starts. Raises BadService where nobody can listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise BadService(f"{host}:{port} cannot be listened on ({error.strerror}); choose another --port or --host.") from None


def serve(app: Any, jobs: Jobs, host: str, port: int, told_every_s: float = TOLD_EVERY_S) -> None:
    """Until Ctrl-C or SIGTERM; then what runs ends and every process with it."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_keep_alive=30, limit_concurrency=1024))

    async def both() -> None:
        telling = asyncio.create_task(_tell(jobs, told_every_s))
        try:
            await server.serve()
        finally:
            telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await telling

    try:
        asyncio.run(both())
    finally:
        print(line(jobs), file=sys.stderr)
        jobs.close()


def line(jobs: Jobs) -> str:
    """`212 evaluations · 1,431 an hour and device · cache hits 38 % · 12 waiting`."""
    now = jobs.statistics()
    hits = "—" if now.cache_hit_rate is None else f"{100 * now.cache_hit_rate:.0f} %"
    return f"{now.evaluations} evaluations · {now.evaluations_per_hour_per_device:,.0f} an hour and device · cache hits {hits} · {now.waiting} waiting"


async def _tell(jobs: Jobs, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        print(line(jobs), file=sys.stderr, flush=True)
