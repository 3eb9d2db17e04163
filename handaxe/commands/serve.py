"""`handaxe serve MODULE:ATTRIBUTE ...`: serve tools over MCP."""

import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any, Literal

import tyro

from handaxe.errors import InputError
from handaxe.tools.serve import serve

__all__ = ["ServeOptions", "main"]


@dataclass(frozen=True)
class ServeOptions:
    """Serve tools over MCP.

    Args:
        tools: where they are, such as handaxe.tools.calculator:calculator or my_file:MyNotes; modules in the current
            folder are found. Each is a tool, or a function or class without arguments that makes tools for one client.
        name: what the server calls itself.
        transport: stdio, for clients that start this command; http for those that come by address.
        host: where to listen for http. There is no log-in: whoever reaches it may call the tools.
        port: where to listen for http.
    """

    tools: tyro.conf.Positional[tuple[str, ...]]
    name: str = "handaxe"
    transport: Literal["stdio", "http"] = "stdio"
    host: str = "127.0.0.1"
    port: int = 8000


def main(arguments: list[str]) -> int:
    """Serve until the client goes or Ctrl-C; returns the exit code."""
    options = tyro.cli(ServeOptions, args=arguments, prog="handaxe serve")
    if not options.tools:
        raise InputError("name at least one tool, such as handaxe.tools.calculator:calculator")
    tools = [_found(where) for where in options.tools]
    try:
        serve(tools, name=options.name, transport=options.transport, host=options.host, port=options.port)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 0


def _found(where: str) -> Any:
    module, _, attribute = where.partition(":")
    if not module or not attribute:
        raise InputError(f"{where!r} names no tool: write MODULE:ATTRIBUTE, such as handaxe.tools.python:python")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"there is no {where!r}: {error}") from error
