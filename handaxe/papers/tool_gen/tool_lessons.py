"""Lessons of the training stages: tool documents, requests and conversations as ids with targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.models.chat_formats.compact import ASSISTANT, END, TOOL, USER
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.worlds.toolbox.catalogue import ToolEntry, name_words
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest

__all__ = [
    "Lesson",
    "ToolVocabulary",
    "agent_lesson",
    "language_lesson",
    "memory_lesson",
    "reply_ids",
    "request_ids",
    "retrieval_lesson",
]

LONGEST = 64
"""Ids of a text; later ones are cut."""


class Lesson(NamedTuple):
    """Ids, and the places whose ids are learned."""

    ids: tuple[int, ...]
    learned: tuple[int, ...]


class ToolVocabulary(NamedTuple):
    """Pieces of texts and ids of tools.

    spellings: tool -> the ids that stand for it in a turn, an atomic id or the pieces of its name. finish: id that ends
    a conversation.
    """

    pieces: Pieces
    spellings: Mapping[str, tuple[int, ...]]
    finish: int

    def text(self, text: str) -> list[int]:
        """Ids of a text, cut."""
        return self.pieces.encode(text)[:LONGEST]


def language_lesson(vocabulary: ToolVocabulary, text: str) -> Lesson:
    """Every id of a text is learned, from the second on."""
    ids = vocabulary.text(text)
    return Lesson(tuple(ids), tuple(range(1, len(ids))))


def memory_lesson(vocabulary: ToolVocabulary, entry: ToolEntry) -> Lesson:
    """Tool memorization: name and description, then the tool's token.

    Paper: arXiv:2410.03439 (ToolGen), the first stage.
    Differs: nothing known.
    """
    text = f"{' '.join(name_words(entry.function))}. {entry.document['description']}"
    return _answered(request_ids(vocabulary, text), vocabulary.spellings[entry.name])


def retrieval_lesson(vocabulary: ToolVocabulary, request: LabelledRequest) -> Lesson:
    """Retrieval training: a request of one tool, then the tool's token.

    Paper: arXiv:2410.03439 (ToolGen), the second stage.
    Differs: nothing known.
    """
    return _answered(request_ids(vocabulary, request.text), vocabulary.spellings[request.needed[0]])


def agent_lesson(vocabulary: ToolVocabulary, request: LabelledRequest, replies: Sequence[str]) -> Lesson:
    """Agent training: a conversation with the token of each step, the reply of each call, and the end.

        <USER> request <END> <ASSISTANT> tool <END> <TOOL> reply <END> <ASSISTANT> tool ... <ASSISTANT> finish

    Paper: arXiv:2410.03439 (ToolGen), the third stage.
    Differs: a turn is the token alone, without thought and arguments.
    """
    ids, learned = request_ids(vocabulary, request.text), list[int]()
    for step, reply in zip(request.steps, replies, strict=True):
        spelled = vocabulary.spellings[step["name"]]
        learned += range(len(ids), len(ids) + len(spelled))
        ids += [*spelled, END, *reply_ids(vocabulary, reply)]
    return Lesson((*ids, vocabulary.finish), (*learned, len(ids)))


def request_ids(vocabulary: ToolVocabulary, text: str) -> list[int]:
    """Ids before the first turn of the policy."""
    return [USER, *vocabulary.text(text), END, ASSISTANT]


def reply_ids(vocabulary: ToolVocabulary, reply: str) -> list[int]:
    """Ids between two turns of the policy."""
    return [TOOL, *vocabulary.text(reply), END, ASSISTANT]


def _answered(ids: list[int], spelled: Sequence[int]) -> Lesson:
    return Lesson((*ids, *spelled, END), tuple(range(len(ids), len(ids) + len(spelled) + 1)))
