from dataclasses import replace
from enum import Enum
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import BaseModel, Field

from handaxe.core.errors import Retry, ToolDefinitionError
from handaxe.core.images import Image
from handaxe.core.records import ToolSchema
from handaxe.tools.definition import ToolContext, check_names, define


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    title: str
    x: int = 0


def paint(
    colour: Colour,
    place: Annotated[Point, "where"],
    times: Annotated[int, Field(ge=1, description="how often")] = 1,
    how: Literal["fast", "slow"] | None = None,
    context: ToolContext = ToolContext("", 0),
):
    """Paint a point.

    It dries within the hour.

    Args:
        colour: of the paint
        place: overridden by the annotation
    """


def test_schema_has_types_defaults_and_descriptions():
    definition = define(paint)
    assert definition.context == "context"
    assert definition.parameters == ("colour", "place", "times", "how")
    assert definition.schema.name == "paint"
    assert definition.schema.description == "Paint a point.\n\nIt dries within the hour."
    assert definition.schema.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["colour", "place"],
        "properties": {
            "colour": {"$ref": "#/$defs/Colour", "description": "of the paint"},
            "place": {"$ref": "#/$defs/Point", "description": "where"},
            "times": {"type": "integer", "minimum": 1, "default": 1, "description": "how often"},
            "how": {"anyOf": [{"enum": ["fast", "slow"], "type": "string"}, {"type": "null"}], "default": None},
        },
        "$defs": {
            "Colour": {"enum": ["red"], "type": "string"},
            "Point": {
                "type": "object",
                "required": ["title"],
                "properties": {"title": {"type": "string"}, "x": {"type": "integer", "default": 0}},
            },
        },
    }


def test_reserved_parameter_names_are_accepted():
    def odd(schema: int, _hidden: int, model_config: int, p0: int, json: int, title: int) -> int:
        """Add."""
        return schema

    definition = define(odd)
    assert list(definition.schema.parameters["properties"]) == [
        "schema", "_hidden", "model_config", "p0", "json", "title",
    ]  # fmt: skip
    values = dict.fromkeys(definition.schema.parameters["properties"], 1)
    assert [v for _, v in definition.arguments.model_validate(values)] == [1] * 6


def test_invalid_functions_raise():
    def untyped(query, limit: int = 3):
        """Search."""

    def silent(query: str): ...

    def star(*words: str):
        """Search."""

    def stars(**words: str):
        """Search."""

    def first(query: str, /):
        """Search."""

    def typo(query: str):
        """Search.

        Args:
            quary: what for
        """

    def lost(query: "Nowhere"):  # noqa: F821
        """Search."""

    def live(query: object, call: type(lambda: 0)):
        """Search."""

    cases = {
        untyped: "parameter 'query' of tool 'untyped' has no type: write for example `query: str`",
        silent: "tool 'silent' has no docstring",
        star: "variadic positional",
        stars: "variadic keyword",
        first: "positional-only",
        typo: "'quary'",
        lost: "Nowhere",
        live: "tool 'live' has a parameter of a type without JSON schema",
    }
    for function, message in cases.items():
        with pytest.raises(ToolDefinitionError, match=message):
            define(function)
    with pytest.raises(ToolDefinitionError, match="is no tool name"):
        define(paint, name="paint it")


def test_prefix_is_checked():
    definition = define(paint)
    assert definition.prefixed("old_") == definition._replace(schema=replace(definition.schema, name="old_paint"))
    for prefix in ("old ", "1", "x" * 60):
        with pytest.raises(ToolDefinitionError, match="paint' is no tool name: .* at most 64"):
            definition.prefixed(prefix)


def test_context_key_is_unique_over_rollouts():
    keys = [ToolContext(id, seed).key for id in ("t0c0", "t0c1") for seed in (0, 16, 2**63 - 1)]
    assert len(set(keys)) == 6 and keys[1] == ToolContext("t0c0", 16).key == "t0c0-0000000000000010"


def test_duplicate_names_raise():
    check_names([ToolSchema("a", "", {}), ToolSchema("b", "", {})])
    with pytest.raises(ToolDefinitionError, match=r"\['a'\].*name="):
        check_names([ToolSchema("a", "", {}), ToolSchema("b", "", {}), ToolSchema("a", "", {})])


RED, BLUE = (Image.of(np.full((1, 1, 3), k, np.uint8)) for k in (1, 2))


def compare(left: Image, right: Annotated[Image, "the other"], more: list[Image], last: Image | None = None) -> Image:
    """Compare images.

    Args:
        left: the one
    """


def test_a_policy_names_images_by_number():
    definition = define(compare)
    assert definition.images == ("left", "right", "more", "last")
    number = {"type": "integer", "minimum": 1}
    words = "number of an image of the conversation, from 1"
    assert definition.schema.parameters["properties"] == {
        "left": {**number, "description": f"the one, {words}"},
        "right": {**number, "description": f"the other, {words}"},
        "more": {"type": "array", "items": number, "description": words},
        "last": {"anyOf": [number, {"type": "null"}], "default": None, "description": words},
    }
    assert define(paint).images == ()


def test_other_types_with_images_raise():
    def paint(images: dict[str, Image]) -> str:
        """Paint."""

    with pytest.raises(ToolDefinitionError, match="a parameter of a type without JSON schema"):
        define(paint)


def test_context_finds_images_from_number_1():
    context = ToolContext("c0", 0, (RED, BLUE))
    assert context.image() is RED and context.image(2) is BLUE
    for number in (0, 3, -1):
        with pytest.raises(Retry, match=f"there is no image {number}: 2 images were shown"):
            context.image(number)
    with pytest.raises(Retry, match="there is no image 1: no image was shown so far"):
        ToolContext("c0", 0).image()
    with pytest.raises(Retry, match="1 image was shown"):
        ToolContext("c0", 0, (RED,)).image(2)
