"""`popcorn serve`: the evaluation service."""

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer

from popcorn.errors import MissingTool


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine can reach it only when you say so.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8600,
    device: Annotated[str, typer.Option(help="auto (every GPU here, else the CPU), cpu, cuda:INDEX.")] = "auto",
    gpus: Annotated[int | None, typer.Option(min=1, help="Only the first so many GPUs.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file that holds the token; else POPCORN_SERVICE_TOKEN, else a fresh one is printed.")
    ] = None,
    body_bytes: Annotated[int, typer.Option(min=1024, help="Longest body.")] = 1 << 20,
    per_minute: Annotated[int, typer.Option(min=1, help="Requests a minute.")] = 6000,
) -> None:
    """Judge kernels over HTTP: submit, poll or stream, batch.

    OpenAPI under /docs. A line a minute tells evaluations per hour and device and the share that was answered from what was known. The client: popcorn.client.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingTool("popcorn serve needs FastAPI: pip install 'popcornbench[service]'") from None
    from popcorn.home import cache_folder
    from popcorn.records.store import Store, default_store
    from popcorn.service.serving import build, check_port
    from popcorn.service.serving import serve as run
    from popcorn.sweep.places import beside, open_places

    check_port(host, port)
    token = token_file.read_text(encoding="utf-8").strip() if token_file else os.environ.get("POPCORN_SERVICE_TOKEN", "")
    if not token:
        token = secrets.token_urlsafe(24)
        typer.echo(f"token: {token}", err=True)
    store, apart = default_store(), Store(cache_folder() / "unofficial" / "records")
    places = open_places(device, gpus, store, lambda said: typer.echo(said, err=True))
    outside = [beside(place, apart) for place in places]
    app, jobs = build(places, [store, apart], token, outside, body_bytes=body_bytes, per_minute=per_minute)
    typer.echo(f"listening on http://{host}:{port} · {', '.join(place.device for place in places)} · docs at /docs", err=True)
    run(app, jobs, host, port)
