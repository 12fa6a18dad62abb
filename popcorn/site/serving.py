"""The built site over HTTP on this machine alone, for browsers that keep pages from a disk apart (storage, live rows)."""

import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from popcorn.errors import MissingFile, UnwritableStore


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line for each file tells nobody anything."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is not there is said by the site's own page."""
        own = Path(self.directory) / "404.html"
        if code != 404 or not own.is_file():
            return super().send_error(code, message, explain)
        text = own.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def end_headers(self) -> None:
        """A page may be rebuilt while it is open."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def server(folder: Path, port: int = 8764) -> ThreadingHTTPServer:
    """A server of the folder on 127.0.0.1; port 0 takes a free one. Raises MissingFile without a site there, UnwritableStore for a port in use."""
    if not (folder / "index.html").is_file():
        raise MissingFile(f"{folder} holds no site; run popcorn site build first.")
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), functools.partial(_Quiet, directory=str(folder)))
    except OSError as error:
        raise UnwritableStore(f"port {port} cannot be used ({error.strerror}); choose another with --port.") from error
