"""Documents of tools for retrieval: name, description, arguments, hypothetical questions and topics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.index.lexical import tokenize_words
from handaxe.worlds.toolbox.catalogue import ToolEntry, name_words

__all__ = ["FIELDS", "ToolDocument", "base_verb", "template_questions", "template_topics", "tool_document"]

FIELDS = ("name", "description", "arguments", "questions", "topics")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
OPENING = re.compile(
    r"^(?:this|the) (?:function|tool|api|method|endpoint|service|command)\b,?\s*"
    r"(?:(?:is used|can be used|is designed|allows (?:you|users|the user)) (?:to|for)\s+)?",
    re.IGNORECASE,
)
"""Opening of a description without content: "This function is used to ..."."""
THIRD = re.compile(r"^(\w+?)(?:(?<=ss)es|(?<=x)es|(?<=ch)es|(?<=sh)es|(?<!s)s)\b", re.IGNORECASE)
"""Third person of a verb at the start of a text: "Calculates", "Searches"."""
ARGUMENTS_SHOWN = 3
"""Arguments in a hypothetical question."""


class ToolDocument(NamedTuple):
    """Text of a tool in parts. name: words of the name. arguments: names and descriptions of the parameters."""

    id: str
    name: str
    description: str
    arguments: str
    questions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def text(self, fields: Sequence[str] = FIELDS) -> str:
        """Join parts of the document, in the order of `fields`; empty parts are left out.

        Raises:
            InputError: no field, or an unknown one.

        Example:
            ToolDocument("f", "area circle", "Area of a circle.", "radius").text(["name", "arguments"]) is
            "area circle. radius"
        """
        if not fields or not set(fields) <= set(FIELDS):
            raise InputError(f"a tool document has the fields {', '.join(FIELDS)}, not {list(fields)}")
        parts = [self[FIELDS.index(field) + 1] for field in fields]
        texts = [part if isinstance(part, str) else " ".join(part) for part in parts]
        return ". ".join(text.strip().rstrip(".") for text in texts if text.strip())


def tool_document(entry: ToolEntry) -> ToolDocument:
    """Read name, description and arguments of a tool; questions and topics are empty.

    Example:
        geometry.area_circle(radius: "in cm") has the name "geometry area circle" and the arguments "radius in cm"
    """
    arguments = [
        " ".join([*name_words(name), str(described.get("description", ""))]).strip()
        for name, described in entry.document["parameters"]["properties"].items()
    ]
    return ToolDocument(
        entry.name, " ".join(name_words(entry.function)), entry.document["description"].strip(), ", ".join(arguments)
    )


def base_verb(text: str) -> str:
    """Replace the third person of a verb at the start of a text by the base form.

    Example:
        "Searches a list."  ->  "Search a list.";  "Process it."  ->  "Process it."
    """
    return THIRD.sub(r"\1", text, count=1)


def template_questions(entry: ToolEntry) -> tuple[str, ...]:
    """Write three hypothetical questions of users from the description and the names of the required arguments.

    Args:
        entry: the tool.

    Returns:
        Three texts; one for a tool without description.

    Example:
        "Calculates the area of a circle." with the argument radius gives "Can you calculate the area of a circle?",
        "What is the area of a circle for radius?" and "How do I get geometry area circle?"
    """
    first = SENTENCE.split(entry.document["description"].strip())[0].rstrip(".!? ")
    action = base_verb(OPENING.sub("", first))
    action = action[:1].lower() + action[1:]
    thing = action.partition(" ")[2] or action
    parameters: Any = entry.document["parameters"]
    wanted = parameters.get("required") or list(parameters["properties"])
    given = " and ".join(" ".join(name_words(name)) for name in wanted[:ARGUMENTS_SHOWN])
    article = "" if thing.startswith(("the ", "a ", "an ")) else "the "
    written = [f"Can you {action}?", f"What is {article}{thing}{f' for {given}' if given else ''}?"]
    name = " ".join(name_words(entry.function))
    return (*(written if action else ()), f"How do I get {name}?")


def template_topics(entry: ToolEntry, most: int = 8) -> tuple[str, ...]:
    """Choose key words of name and description, without duplicates, the name's first.

    Args:
        entry: the tool.
        most: number of words, 1 or more.

    Example:
        geometry.area_circle, "Area of a circle.", most 3  ->  ("geometry", "area", "circle")
    """
    if most < 1:
        raise InputError(f"a tool has 1 topic or more, not {most}")
    words = [*name_words(entry.function), *tokenize_words(entry.document["description"])]
    return tuple(dict.fromkeys(word for word in words if not word.isdigit()))[:most]
