"""Serves the pages of runs to this machine, read-only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.tools.bearer_auth import LocalOnly
from handaxe.tools.bind_socket import bind_socket
from handaxe.view.api import ViewApi, error_text
from handaxe.view.assets import LIBRARIES, MODULES, library_file, page_file
from handaxe.view.export_file import export_file
from handaxe.view.query_parameters import parse_query
from handaxe.view.trajectory import Decode

try:
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.requests import Request
    from starlette.responses import FileResponse, Response
    from starlette.routing import Route

    from handaxe.tools.http_server import http_server
except ImportError as error:
    raise InputError("the viewer needs more packages: install them with pip install 'handaxe[view]'") from error

__all__ = ["serve_view", "view_app"]

# Inline styles are allowed for Plotly. Untrusted text never becomes markup or a style.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}


def view_app(folder: Path, decoder: Callable[[Path], Decode]) -> Any:
    """Make the web app of the pages and their data. Answers requests to localhost only, and no other origin.

    Args:
        folder: a run, or a folder of runs and results.
        decoder: folder of a run -> decoder of token ids.

    Raises:
        InputError: the folder does not exist, or a package is missing.
    """
    for name in LIBRARIES:
        library_file(name)  # a missing package is an error before the first request
    handlers = _Handlers(folder, decoder)
    app = Starlette(
        routes=[
            Route("/", handlers.index),
            Route("/pages/{name}", handlers.page),
            Route("/lib/{name}", handlers.library),
            Route("/api/{name}", handlers.answer),
            Route("/export/{kind}", handlers.export),
            Route("/image/{digest}", handlers.image),
        ],
        lifespan=handlers.lifespan,
    )
    app.router.redirect_slashes = False  # a path has one spelling
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=4)
    return LocalOnly(app)


def serve_view(folder: Path, decoder: Callable[[Path], Decode], *, port: int = 0, show: Callable[[str], None]) -> None:
    """Serve until the process is stopped, with the limits on connections of `handaxe.tools.http_server`.

    Args:
        folder, decoder: arguments of `view_app`.
        port: of localhost; 0 chooses a free port.
        show: called with the address once the server listens.

    Raises:
        InputError: the port is in use, or an error of `view_app`.
    """
    app = view_app(folder, decoder)
    with contextlib.closing(bind_socket("127.0.0.1", port)) as listening:
        show(f"http://localhost:{listening.getsockname()[1]}/")
        http_server(app, shutdown_seconds=1).run(sockets=[listening])


class _Handlers:
    """Request handlers. A single thread reads records."""

    def __init__(self, folder: Path, decoder: Callable[[Path], Decode]):
        self.make = partial(ViewApi, folder, decoder)
        self.make().close()  # raises for a missing folder

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Open and close the reader thread with the app."""
        del app
        self.reader = ThreadPoolExecutor(1, thread_name_prefix="handaxe-view")
        self.answers = await self._read(self.make)
        try:
            yield
        finally:
            await self._read(self.answers.close)
            self.reader.shutdown(wait=False, cancel_futures=True)

    async def index(self, request: Request) -> Response:
        """The HTML page."""
        del request
        return _file("index.html", page_file("index.html"))

    async def page(self, request: Request) -> Response:
        """A file of handaxe."""
        name = request.path_params["name"]
        if name not in (*MODULES, "style.css", "tables_library.js"):
            return _json({"error": "there is no such file"}, 404)
        return _file(name, page_file(name))

    async def library(self, request: Request) -> Response:
        """A file of a library."""
        name = request.path_params["name"]
        return _file(name, library_file(name)) if name in LIBRARIES else _json({"error": "there is no such file"}, 404)

    async def answer(self, request: Request) -> Response:
        """Answer to a query."""
        query = dict(request.query_params)
        try:
            return _json(await self._read(partial(self.answers.answer, request.path_params["name"], query)))
        except Exception as error:
            return _failed(error)

    async def image(self, request: Request) -> Response:
        """Bytes of an image, by digest."""
        query, digest = dict(request.query_params), request.path_params["digest"]
        try:
            media_type, data = await self._read(lambda: self.answers.image(query, digest))
        except Exception as error:
            return _failed(error)
        return Response(data, media_type=media_type, headers=HEADERS)

    async def export(self, request: Request) -> Response:
        """Found rollouts as a file."""
        query, kind = dict(request.query_params), request.path_params["kind"]
        folder = Path(tempfile.mkdtemp(prefix="handaxe-export-"))

        def write() -> Path:
            return export_file(self.answers.runs[query.get("run", "")], parse_query(query), kind, folder)

        try:
            file = await self._read(write)
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            return _failed(error)
        done = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(file, filename=file.name, headers=HEADERS, background=done)

    async def _read(self, call: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.reader, call)


def _file(name: str, text: str) -> Response:
    return Response(text, media_type=KINDS[Path(name).suffix], headers=HEADERS)


def _failed(error: Exception) -> Response:
    return _json({"error": error_text(error)}, 404 if isinstance(error, InputError) else 500)


def _json(body: Any, status: int = 200) -> Response:
    """Response with JSON in ASCII, which can hold lone surrogates."""
    text = json.dumps(body, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json", headers=HEADERS)
