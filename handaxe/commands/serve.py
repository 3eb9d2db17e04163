"""`handaxe serve MODULE:ATTRIBUTE ...`: serve tools over MCP. `handaxe serve --model RUN`: serve a policy."""

import importlib
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute
from handaxe.models.load import check_options, load
from handaxe.tools.bearer_auth import check_token, require_token
from handaxe.tools.bind_socket import bind_socket

__all__ = ["ServeOptions", "main"]

MOST = 65535


@dataclass(frozen=True)
class ServeOptions:
    """Serve tools over MCP; with --model, serve a policy over the chat completions protocol.

    Args:
        tools: import strings such as handaxe.tools.calculator:calculator or my_file:MyNotes; modules in the current
            folder are found. Each names a tool, a list of tools, or a function or class without arguments that makes
            tools for one client.
        model: folder of a run, or another argument of `handaxe chat`: serve this policy at http://HOST:PORT/v1.
        name: name of the server; for a policy, the name of the model, by default the name of the folder.
        max_tokens: for a policy: token limit of an answer if the client sets no limit.
        device: for a policy: cpu, cuda, cuda:1, ...
        transport: stdio for clients that start this command; http for clients with an address.
        host: address of the http server; other addresses than localhost, 127.0.0.1 and ::1 need a token.
        port: of the http server; 0 for a free port, which is printed, for tools.
        workers: for tools: calls that run at the same time, over all clients.
        until_eof: for http: stop when stdin is closed, so that the server ends with the program that started it.
        token_env: environment variable with the token that clients must send as "Authorization: Bearer ..."
        token_file: file with the token. A token cannot be an argument, since other users of the machine could read it.
    """

    tools: tyro.conf.Positional[tuple[str, ...]]
    model: str = ""
    name: str = ""
    max_tokens: int = 1024
    device: str = "cpu"
    transport: Literal["stdio", "http"] = "stdio"
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 16
    until_eof: bool = False
    token_env: str = ""
    token_file: Path | None = None


def main(arguments: list[str]) -> int:
    """Serve until the client disconnects or Ctrl-C; returns the exit code."""
    options = tyro.cli(ServeOptions, args=arguments, prog="handaxe serve")
    if not options.tools and not options.model:
        raise InputError(
            "name at least one tool, such as handaxe.tools.calculator:calculator; or a policy, with --model RUN"
        )
    if options.tools and options.model:
        raise InputError("--model serves a policy, and clients supply the tools: leave the tools out, or --model")
    token = _token(options)
    try:
        _serve_model(options, token) if options.model else _serve_tools(options, token)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 0


def _serve_tools(options: ServeOptions, token: str) -> None:
    serve = importlib.import_module("handaxe.tools.serve").serve  # on use: needs packages of its own
    tools = [attribute(where, noun="tool", example="handaxe.tools.python:python") for where in options.tools]
    name = options.name or "handaxe"
    if options.transport == "http":
        require_token(options.host, token)
    _check_address(options)
    if options.until_eof and options.transport == "stdio":
        raise InputError("--until-eof is for --transport http: over stdio the server always ends with its client")
    if options.transport == "stdio":
        _default_signals()
    if options.until_eof:
        threading.Thread(target=_stop_at_eof, daemon=True).start()
    serve(
        tools,
        name=name,
        transport=options.transport,
        host=options.host,
        port=options.port,
        token=token,
        workers=options.workers,
    )


def _default_signals() -> None:
    """Let Ctrl-C and SIGTERM end the process at once: a thread blocks on the client's next message and cannot be woken
    for a clean exit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _stop_at_eof() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _serve_model(options: ServeOptions, token: str) -> None:
    if options.max_tokens < 1:
        raise InputError(f"--max-tokens is {options.max_tokens}; give 1 or more")
    require_token(options.host, token)
    bind_socket(options.host, options.port).close()
    check_options(options.model)
    chat_server = importlib.import_module("handaxe.serving.chat_server").chat_server
    model, format = load(options.model)
    chat_server(
        engines.LocalEngine(model, device=options.device),
        format,
        name=options.name or Path(options.model).resolve().name,
        host=options.host,
        port=options.port,
        token=token,
        max_tokens=options.max_tokens,
    )


def _check_address(options: ServeOptions) -> None:
    """Raise InputError if the address is invalid or in use."""
    least = 0 if options.transport == "http" else 1
    if not least <= options.port <= MOST:
        raise InputError(f"--port is {options.port}; give {least} to {MOST}")
    if options.transport == "http":
        bind_socket(options.host, options.port).close()


def _token(options: ServeOptions) -> str:
    """Read the token; "" without --token-env and --token-file. Raises InputError for an empty token."""
    if options.token_env and options.token_file:
        raise InputError("give --token-env or --token-file, not both")
    if options.token_file:
        try:
            return check_token(options.token_file.read_text().strip())
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the token cannot be read from {options.token_file}: {error}") from None
    if options.token_env:
        if not os.environ.get(options.token_env):
            raise InputError(f"the environment variable {options.token_env} is not set; set it to the token")
        return check_token(os.environ[options.token_env])
    return ""
