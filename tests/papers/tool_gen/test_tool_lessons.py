"""Lessons of the stages, and their training."""

import json

from handaxe.models.chat_formats.compact import ASSISTANT, END, TOOL, USER
from handaxe.papers.tool_gen.tool_lessons import (
    Lesson,
    ToolVocabulary,
    agent_lesson,
    language_lesson,
    memory_lesson,
    request_ids,
    retrieval_lesson,
)
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest


class Bytes:
    def encode(self, text):
        return list(text.encode())


WORDS = ToolVocabulary(Bytes(), {"a": (264,), "b": (265, 266)}, 267)
ENTRY = ToolEntry("b", "b", {"name": "b", "description": "Does b."}, "", "", json.dumps({}))


def learned(lesson):
    return [lesson.ids[place] for place in lesson.learned]


def test_documents_and_requests_are_answered_by_the_token():
    memory, request = memory_lesson(WORDS, ENTRY), retrieval_lesson(WORDS, LabelledRequest("r", "hi", ({"name": "a"},)))
    assert learned(memory) == [265, 266, END] and learned(request) == [264, END]
    assert request.ids == (USER, *b"hi", END, ASSISTANT, 264, END)
    assert memory.ids[1:11] == tuple(b"b. Does b.")


def test_conversations_learn_tokens_and_the_end_alone():
    found = agent_lesson(WORDS, LabelledRequest("r", "hi", ({"name": "a"}, {"name": "b"})), ["7", "8"])
    turns = (264, END, TOOL, *b"7", END, ASSISTANT, 265, 266, END, TOOL, *b"8", END, ASSISTANT, 267)
    assert found.ids == (USER, *b"hi", END, ASSISTANT, *turns) and learned(found) == [264, 265, 266, 267]


def test_long_texts_are_cut_and_language_is_learned_from_the_second_id():
    assert language_lesson(WORDS, "abc") == Lesson(tuple(b"abc"), (1, 2))
    assert len(request_ids(WORDS, "x" * 500)) == 67
