"""What the package `bfcl-eval` holds: questions, answers, descriptions of functions, and simulators to call them on.

The only file that touches the package. Its data and simulators are taken; its own executor, which evaluates what a
model wrote and keeps simulators in a table by the model's name, is not.
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
    "answers_of",
    "documents_of",
    "new_simulator",
    "parse_call",
    "questions_of",
    "schema_of",
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
"""By simulator the file that describes its functions, which is also called like the module of the simulator."""
TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""What these files call a type, and what JSON schemas do."""


def questions_of(category: str) -> list[dict[str, Any]]:
    """The questions of a category, as the package has them.

    Raises:
        InputError: the package is missing, or is one of another version that lacks the file.
    """
    return _read(f"BFCL_v4_{category}.json")


def answers_of(category: str) -> list[dict[str, Any]]:
    """The answers to `questions_of`, in the same order; empty where no answer is kept because no call is right."""
    if category.endswith("relevance"):
        return []
    return _read(f"possible_answer/BFCL_v4_{category}.json")


@functools.lru_cache(maxsize=16)
def documents_of(simulator: str) -> list[dict[str, Any]]:
    """The descriptions of a simulator's functions."""
    return _read(f"multi_turn_func_doc/{DOCUMENTS[simulator]}.json")


def schema_of(document: Mapping[str, Any], language: str = "") -> ToolSchema:
    """What a policy is told of a function: types are named as JSON schemas name them, and a dot in the name is _.

    Args:
        document: the package's description.
        language: in which arguments are written, as texts whose descriptions then name their types; "" is none.

    Example:
        {"name": "math.sqrt", "description": "Root.", "parameters": {"type": "dict", "properties": {"x":
        {"type": "float"}}}}  ->  ToolSchema("math_sqrt", "Root.", {"type": "object", "properties": {"x":
        {"type": "number"}}})
    """
    name, parameters = document["name"].replace(".", "_"), document["parameters"]
    if not language:
        return ToolSchema(name, document["description"], _typed(parameters))
    texts = {key: _as_text(one, language) for key, one in parameters["properties"].items()}
    told = f"{document['description']} It is a function of {language}."
    return ToolSchema(name, told, {**parameters, "type": "object", "properties": texts})


def _as_text(described: Mapping[str, Any], language: str) -> dict[str, Any]:
    """A parameter that is given as text, with its type in words, as the package tells models that call by JSON."""
    kind, inner = described["type"], described.get("items", {}).get("type")
    told = f"Written in {language}, of type {kind}{f' of {inner}' if inner else ''}."
    if "properties" in described:
        told += f" Its entries: {json.dumps(described['properties'])}"
    kept = {key: one for key, one in described.items() if key not in ("items", "properties")}
    return {**kept, "type": "string", "description": f"{described.get('description', '')} {told}".strip()}


def new_simulator(name: str, config: Mapping[str, Any], *, long_context: bool) -> Any:
    """A simulator in its first state; nothing is shared with another one.

    Args:
        name: of its class.
        config: its first state, which it may keep and change.
        long_context: whether it pads what it says, as the category of that name wants.

    Raises:
        InputError: the package is missing. TaskError: there is no such simulator, or it refuses the config.
    """
    if name not in DOCUMENTS:
        raise TaskError(f"there is no simulator {name!r}; there are {', '.join(DOCUMENTS)}")
    made = _classes()[name]()
    if name == "MathAPI":  # has no state
        return made
    try:
        made._load_scenario(dict(config), long_context=long_context)
    except Exception as error:
        raise TaskError(f"simulator {name!r} refuses its first state: {error!r}") from error
    return made


def parse_call(text: str, parameters: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A call of an answer, which is written in Python, as data. Nothing is evaluated but literals.

    Args:
        text: of the call.
        parameters: by function the names of its parameters, for arguments given by their place.

    Returns:
        {"name": ..., "arguments": {...}}.

    Raises:
        TaskError: the text is no call with literal arguments, or of no function that is known.

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
    """The same with JSON schema's names of types. `named`: the keys of this dict are names and not keywords."""
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


def _missing() -> InputError:
    return InputError(
        "the world bfcl takes its questions and simulators from a package: pip install --no-deps bfcl-eval "
        "(what that package depends on is not needed)"
    )
