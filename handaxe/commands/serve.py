"""`handaxe serve MODULE:ATTRIBUTE ...`: serve tools over MCP. `handaxe serve --model RUN`: serve a policy."""

import importlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.tools.bearer import check_door, check_token
from handaxe.tools.listening import listen

__all__ = ["ServeOptions", "main"]

MOST = 65535


@dataclass(frozen=True)
class ServeOptions:
    """Serve tools over MCP; or, with --model, a policy as chat completions, for any client of that protocol.

    Args:
        tools: where they are, such as handaxe.tools.calculator:calculator or my_file:MyNotes; modules in the current
            folder are found. Each is a tool, a list of tools, or a function or class without arguments that makes tools
            for one client.
        model: a run's folder, or what else `handaxe chat` takes: serve that at http://HOST:PORT/v1 instead of tools.
        name: what the server calls itself; for a policy, the model's name, which is that of its folder.
        max_tokens: for a policy: of an answer, where the client sets no limit.
        transport: stdio, for clients that start this command; http for those that come by address.
        host: where to listen for http; another than localhost, 127.0.0.1 and ::1 needs a token.
        port: where to listen for http.
        token_env: the environment variable that holds the token which clients must send, as "Authorization: Bearer ..."
        token_file: or the file that holds it. It is no argument itself, which others on this machine could read.
    """

    tools: tyro.conf.Positional[tuple[str, ...]]
    model: str = ""
    name: str = ""
    max_tokens: int = 1024
    transport: Literal["stdio", "http"] = "stdio"
    host: str = "127.0.0.1"
    port: int = 8000
    token_env: str = ""
    token_file: Path | None = None


def main(arguments: list[str]) -> int:
    """Serve until the client goes or Ctrl-C; returns the exit code."""
    options = tyro.cli(ServeOptions, args=arguments, prog="handaxe serve")
    if not options.tools and not options.model:
        raise InputError(
            "name at least one tool, such as handaxe.tools.calculator:calculator; or a policy, with --model RUN"
        )
    if options.tools and options.model:
        raise InputError("--model serves a policy, and its clients bring the tools: leave the tools out, or --model")
    token = _token(options)
    try:
        _serve_model(options, token) if options.model else _serve_tools(options, token)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 0


def _serve_tools(options: ServeOptions, token: str) -> None:
    serve = importlib.import_module("handaxe.tools.serve").serve  # each needs packages that the other does not
    tools = [attribute(where, noun="tool", example="handaxe.tools.python:python") for where in options.tools]
    name = options.name or "handaxe"
    if options.transport == "http":
        check_door(options.host, token)
    _check_address(options)
    if options.transport == "stdio":
        _end_at_once()
    serve(tools, name=name, transport=options.transport, host=options.host, port=options.port, token=token)


def _end_at_once() -> None:
    """Let Ctrl-C and SIGTERM end the program as they end others: a thread waits for what the client says next, and it
    cannot be woken to stop in good order."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _serve_model(options: ServeOptions, token: str) -> None:
    if options.max_tokens < 1:
        raise InputError(f"--max-tokens is {options.max_tokens}; give 1 or more")
    check_door(options.host, token)
    chat_server = importlib.import_module("handaxe.serving.chat_server").chat_server
    model, format = load(options.model)
    chat_server(
        LocalEngine(model),
        format,
        name=options.name or Path(options.model).resolve().name,
        host=options.host,
        port=options.port,
        token=token,
        max_tokens=options.max_tokens,
    )


def _check_address(options: ServeOptions) -> None:
    """Raise InputError when one cannot listen there."""
    host, port = options.host, options.port
    if not 1 <= port <= MOST:
        raise InputError(f"--port is {port}; give 1 to {MOST}")
    if options.transport == "http":
        listen(host, port).close()


def _token(options: ServeOptions) -> str:
    """The token, or "" where none is asked for; one that is asked for and empty is a mistake."""
    if options.token_env and options.token_file:
        raise InputError("give --token-env or --token-file, not both")
    if options.token_file:
        try:
            return check_token(options.token_file.read_text().strip())
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the token cannot be read from {options.token_file}: {error}") from None
    if options.token_env:
        if not os.environ.get(options.token_env):
            raise InputError(f"the environment variable {options.token_env} is not set; it should hold the token")
        return check_token(os.environ[options.token_env])
    return ""
