import json

import pytest

from handaxe.core.errors import InputError
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.tool_documents import (
    ToolDocument,
    base_verb,
    template_questions,
    template_topics,
    tool_document,
)


def entry(function, description, parameters):
    schema = {"properties": {name: {"description": text} for name, text in parameters.items()}, "required": []}
    shown = {"name": function, "description": description, "parameters": schema}
    return ToolEntry(function, function, shown, "", "", json.dumps(shown))


AREA = entry("geometry.area_circle", "Calculates the area of a circle.", {"radius": "in cm"})


def test_document_has_words_of_name_and_arguments():
    assert tool_document(AREA) == ToolDocument(
        "geometry.area_circle", "geometry area circle", "Calculates the area of a circle.", "radius in cm"
    )


def test_text_joins_the_given_fields_and_leaves_out_empty_ones():
    found = tool_document(AREA)._replace(questions=("What?", "Why?"))
    assert found.text(["name", "arguments"]) == "geometry area circle. radius in cm"
    assert found.text(["topics", "questions", "name"]) == "What? Why?. geometry area circle"
    with pytest.raises(InputError, match="fields name, description"):
        found.text(["title"])
    with pytest.raises(InputError, match="fields"):
        found.text([])


def test_questions_are_written_from_description_and_arguments():
    assert template_questions(AREA) == (
        "Can you calculate the area of a circle?",
        "What is the area of a circle for radius?",
        "How do I get geometry area circle?",
    )
    opened = entry("sum_all", "This function is used to add numbers. It is fast.", {})
    assert template_questions(opened)[:2] == ("Can you add numbers?", "What is the numbers?")
    assert template_questions(entry("sum_all", "", {})) == ("How do I get sum all?",)


@pytest.mark.parametrize(
    "text, base",
    [
        ("Searches a list", "Search a list"),
        ("Process it", "Process it"),
        ("Processes it", "Process it"),
        ("Fixes it", "Fix it"),
        ("Analyzes it", "Analyze it"),
        ("Get all cats", "Get all cats"),
        ("", ""),
    ],
)
def test_base_verb_changes_the_first_word_alone(text, base):
    assert base_verb(text) == base


def test_topics_are_distinct_words_of_name_and_description():
    assert template_topics(AREA, 4) == ("geometry", "area", "circle", "calculates")
    with pytest.raises(InputError, match="1 topic"):
        template_topics(AREA, 0)
