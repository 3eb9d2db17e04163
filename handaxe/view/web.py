"""Serves the pages of the runs under a folder, to this machine and for reading only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.tools.bearer import OnlyHere
from handaxe.tools.listening import listen
from handaxe.view.answers import Answers, where_of
from handaxe.view.assets import LIBRARIES, MODULES, library_file, page_file
from handaxe.view.export_file import export_file
from handaxe.view.trajectory import Decode

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.requests import Request
    from starlette.responses import FileResponse, Response
    from starlette.routing import Route
except ImportError as error:
    raise InputError("the viewer needs more packages: install them with pip install 'handaxe[view]'") from error

__all__ = ["serve_view", "view_app"]

# Plotly writes style rules of its own, so inline styles are allowed; text of others never becomes markup or a style.
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
    """The web app: the pages, and the answers to what they ask. It answers programs and pages of this machine that call
    it by the name localhost, and those of no other origin.

    Args:
        folder: a run, or a folder of runs and results.
        decoder: the folder of a run -> what turns its ids into text.

    Raises:
        InputError: there is no such folder, or a package is missing.
    """
    for name in LIBRARIES:
        library_file(name)  # now, and not when a page asks for it
    desk = _Desk(folder, decoder)
    app = Starlette(
        routes=[
            Route("/", desk.index),
            Route("/pages/{name}", desk.page),
            Route("/lib/{name}", desk.library),
            Route("/api/{question}", desk.answer),
            Route("/export/{kind}", desk.export),
        ],
        lifespan=desk.lifespan,
    )
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=4)
    return OnlyHere(app)


def serve_view(folder: Path, decoder: Callable[[Path], Decode], *, port: int = 0, show: Callable[[str], None]) -> None:
    """Serve until the program is stopped.

    Args:
        folder, decoder: as of `view_app`.
        port: of localhost; 0 takes a free one.
        show: called with the address once it is listened at.

    Raises:
        InputError: the port cannot be listened at, or as `view_app`.
    """
    app = view_app(folder, decoder)
    with contextlib.closing(listen("127.0.0.1", port)) as listening:
        show(f"http://localhost:{listening.getsockname()[1]}/")
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        server.run(sockets=[listening])


class _Desk:
    """Answers requests. Records are read by one thread."""

    def __init__(self, folder: Path, decoder: Callable[[Path], Decode]):
        self.make = partial(Answers, folder, decoder)
        self.make().close()  # raises when there is no such folder

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """The reader, for as long as the app lives."""
        del app
        self.reader = ThreadPoolExecutor(1, thread_name_prefix="handaxe-view")
        self.answers = await self._ask(self.make)
        try:
            yield
        finally:
            await self._ask(self.answers.close)
            self.reader.shutdown(wait=False, cancel_futures=True)

    async def index(self, request: Request) -> Response:
        """The one page."""
        del request
        return _file("index.html", page_file("index.html"))

    async def page(self, request: Request) -> Response:
        """One of our own files."""
        name = request.path_params["name"]
        if name not in (*MODULES, "style.css", "tables_library.js"):
            return _said({"error": "there is no such file"}, 404)
        return _file(name, page_file(name))

    async def library(self, request: Request) -> Response:
        """A file of a library."""
        name = request.path_params["name"]
        return _file(name, library_file(name)) if name in LIBRARIES else _said({"error": "there is no such file"}, 404)

    async def answer(self, request: Request) -> Response:
        """What a page asks."""
        asked = dict(request.query_params)
        try:
            return _said(await self._ask(partial(self.answers.answer, request.path_params["question"], asked)))
        except Exception as error:
            return _failed(error)

    async def export(self, request: Request) -> Response:
        """What a search found, as a file."""
        asked, kind = dict(request.query_params), request.path_params["kind"]
        folder = Path(tempfile.mkdtemp(prefix="handaxe-export-"))

        def write() -> Path:
            return export_file(self.answers.runs[asked.get("run", "")], where_of(asked), kind, folder)

        try:
            file = await self._ask(write)
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            return _failed(error)
        done = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(file, filename=file.name, headers=HEADERS, background=done)

    async def _ask(self, call: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.reader, call)


def _file(name: str, text: str) -> Response:
    return Response(text, media_type=KINDS[Path(name).suffix], headers=HEADERS)


def _failed(error: Exception) -> Response:
    """What was wrong with a question; of a mistake of ours its kind alone, and the rest in the terminal."""
    if isinstance(error, InputError):
        return _said({"error": str(error)}, 404)
    sys.stderr.write(f"a question failed: {type(error).__name__}: {error!a}\n")
    return _said({"error": f"reading failed: {type(error).__name__}; the terminal says more"}, 500)


def _said(body: Any, status: int = 200) -> Response:
    """JSON in ASCII, in which lone surrogates can stand."""
    text = json.dumps(body, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json", headers=HEADERS)
