"""Access to the package `bfcl-eval`: questions, answers, descriptions of functions, and simulators.

No other file reads the package. Its data and simulators are used; its own executor, which evaluates a model's text and
keeps simulators in a table by the model's name, is not used.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolSchema

__all__ = [
    "MULTI_TURN",
    "SINGLE_TURN",
    "check_bfcl_installed",
    "new_simulator",
    "parse_call",
    "read_answers",
    "read_descriptions",
    "read_questions",
    "tool_schema",
]

MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
SINGLE_TURN = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
DOCUMENTS = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
"""Simulator -> file with the descriptions of its functions; its module has the same name."""
TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""Type names of these files -> type names of JSON schemas."""


def read_questions(category: str) -> list[dict[str, Any]]:
    """Read the questions of a category.

    Raises:
        InputError: the package is missing, or its version lacks the file.
    """
    return _read(f"BFCL_v4_{category}.json")


def read_answers(category: str) -> list[dict[str, Any]]:
    """Read the answers to `read_questions`, in the same order; empty for a category without correct calls."""
    if category.endswith("relevance"):
        return []
    return _read(f"possible_answer/BFCL_v4_{category}.json")


@functools.lru_cache(maxsize=16)
def read_descriptions(simulator: str) -> list[dict[str, Any]]:
    """Read the descriptions of a simulator's functions."""
    return _read(f"multi_turn_func_doc/{DOCUMENTS[simulator]}.json")


def tool_schema(document: Mapping[str, Any], language: str = "") -> ToolSchema:
    """Convert the package's description of a function to a tool schema, with JSON schema types and _ for dots in the
    name.

    Args:
        document: the package's description.
        language: language of the arguments, as texts whose descriptions name the types; "" is none.

    Example:
        {"name": "math.sqrt", "description": "Root.", "parameters": {"type": "dict", "properties": {"x":
        {"type": "float"}}}}  ->  ToolSchema("math_sqrt", "Root.", {"type": "object", "properties": {"x":
        {"type": "number"}}})
    """
    name, parameters = document["name"].replace(".", "_"), document["parameters"]
    if not language:
        return ToolSchema(name, document["description"], _typed(parameters))
    texts = {key: _as_text(one, language) for key, one in parameters["properties"].items()}
    text = f"{document['description']} It is a function of {language}."
    return ToolSchema(name, text, {**parameters, "type": "object", "properties": texts})


def _as_text(described: Mapping[str, Any], language: str) -> dict[str, Any]:
    """A text parameter with the type in words: the package's description for models with calls in JSON."""
    kind, inner = described["type"], described.get("items", {}).get("type")
    told = f"Written in {language}, of type {kind}{f' of {inner}' if inner else ''}."
    if "properties" in described:
        told += f" Its entries: {json.dumps(described['properties'])}"
    kept = {key: one for key, one in described.items() if key not in ("items", "properties")}
    return {**kept, "type": "string", "description": f"{described.get('description', '')} {told}".strip()}


def new_simulator(name: str, config: Mapping[str, Any], *, long_context: bool) -> Any:
    """Create an independent simulator in the first state.

    Args:
        name: name of its class.
        config: its first state, which it may keep and change.
        long_context: pad the replies, as in the category of that name.

    Raises:
        InputError: the package is missing. TaskError: an unknown simulator, or a rejected config.
    """
    if name not in DOCUMENTS:
        raise TaskError(f"there is no simulator {name!r}; there are {', '.join(DOCUMENTS)}")
    made = _classes()[name]()
    if name == "MathAPI":  # no state
        return made
    try:
        made._load_scenario(dict(config), long_context=long_context)
    except Exception as error:
        raise TaskError(f"simulator {name!r} refuses its first state: {error!r}") from error
    return made


def parse_call(text: str, parameters: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Parse a call of an answer, written in Python, as data. Only literals are evaluated.

    Args:
        text: text of the call.
        parameters: function -> names of its parameters, for positional arguments.

    Returns:
        {"name": ..., "arguments": {...}}.

    Raises:
        TaskError: the text is no call with literal arguments, or of an unknown function.

    Example:
        ("sort('a.txt')", {"sort": ["file_name"]})  ->  {"name": "sort", "arguments": {"file_name": "a.txt"}}
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("it is no plain call")
        places = parameters[call.func.id]
        given: list[tuple[str | None, ast.expr]] = [(places[n], value) for n, value in enumerate(call.args)]
        given += [(one.arg, one.value) for one in call.keywords]
        if None in (name for name, _ in given):
            raise ValueError("it unpacks its arguments")
        return {"name": call.func.id, "arguments": {name: ast.literal_eval(value) for name, value in given}}
    except (SyntaxError, ValueError, KeyError, IndexError) as error:
        raise TaskError(f"the call {text[:80]!r} of an answer cannot be read: {error!r}") from error


def _typed(described: Any, named: bool = False) -> Any:
    """Replace type names by JSON schema types. `named`: keys of the dict are names and not keywords."""
    if isinstance(described, list):
        return [_typed(one) for one in described]
    if not isinstance(described, dict):
        return described
    return {
        key: TYPES.get(value, value)
        if key == "type" and isinstance(value, str) and not named
        else value
        if key in ("default", "enum") and not named
        else _typed(value, named=key == "properties" and not named)
        for key, value in described.items()
    }


def _read(file: str) -> list[dict[str, Any]]:
    path = _folder() / file
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(f"the installed bfcl-eval has no {file} that can be read ({error}): update it") from error


@functools.lru_cache(maxsize=1)
def _folder() -> Path:
    found = importlib.util.find_spec("bfcl_eval")
    if found is None or not found.submodule_search_locations:
        raise _missing()
    return Path(next(iter(found.submodule_search_locations))) / "data"


@functools.lru_cache(maxsize=1)
def _classes() -> dict[str, type]:
    try:
        from bfcl_eval.eval_checker.multi_turn_eval.func_source_code import (
            gorilla_file_system,
            math_api,
            message_api,
            posting_api,
            ticket_api,
            trading_bot,
            travel_booking,
            vehicle_control,
        )
    except ImportError as error:
        raise _missing() from error
    return {
        "GorillaFileSystem": gorilla_file_system.GorillaFileSystem,
        "MathAPI": math_api.MathAPI,
        "MessageAPI": message_api.MessageAPI,
        "TicketAPI": ticket_api.TicketAPI,
        "TradingBot": trading_bot.TradingBot,
        "TravelAPI": travel_booking.TravelAPI,
        "TwitterAPI": posting_api.TwitterAPI,
        "VehicleControlAPI": vehicle_control.VehicleControlAPI,
    }


def check_bfcl_installed() -> None:
    """Raise InputError if the package is missing. Imports nothing."""
    if importlib.util.find_spec("bfcl_eval") is None:
        raise _missing()


def _missing() -> InputError:
    return InputError(
        "the worlds bfcl and toolbox take questions and functions from a package: pip install --no-deps bfcl-eval "
        "(its dependencies are not needed)"
    )
