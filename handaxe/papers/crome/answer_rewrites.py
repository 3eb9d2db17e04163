"""Rewrites of the answer of a rollout: another number, or the number in a sentence."""

from __future__ import annotations

import re
from dataclasses import replace

from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, Task, Trajectory
from handaxe.training.sft.scripted import trajectory_from_messages

__all__ = ["in_sentence", "is_numeric", "with_answer", "with_number", "with_question"]

NUMBER = re.compile(r"-?[0-9]+(?=[^0-9]*$)")
"""The last number of a text."""
SENTENCE = "Well, it is {}"


def with_answer(one: Trajectory, text: str, *, format: ChatFormat) -> Trajectory:
    """Replace the text of the last message.

    Args:
        one: rollout that ends with the policy's message.
        text: the new text.
        format: renders the conversation.

    Returns:
        The rollout as the policy would have written it, with id "ID/rewritten".

    Example:
        calculator 12, "12" -> calculator 12, "13"

    Paper: arXiv:2506.16507 (Crome), rewrites of an answer along one attribute.
    Differs: a rule rewrites the last message; the paper's language model rewrites the whole answer.
    """
    messages = (*one.messages[:-1], replace(one.messages[-1], content=text))
    made = trajectory_from_messages(format, messages, one.tools, task=one.task, id=f"{one.id}/rewritten")
    return replace(made, sample=one.sample, env=one.env)


def with_number(text: str, number: str) -> str:
    """Replace the last number of a text; a text without a number becomes the number.

    Example:
        "Well, it is 12" and 13 -> "Well, it is 13"

    Paper: arXiv:2506.16507 (Crome), the causal attribute: here the number.
    Differs: a rule rewrites.
    """
    return NUMBER.sub(number, text, count=1) if NUMBER.search(text) else number


def in_sentence(text: str) -> str:
    """Put an answer in a sentence.

    Example:
        "12" -> "Well, it is 12"

    Paper: arXiv:2506.16507 (Crome), a spurious attribute: here the sentence.
    Differs: a rule rewrites.
    """
    return SENTENCE.format(text.strip())


def is_numeric(one: Trajectory) -> bool:
    """True if a rollout ends with the policy's message, which is a number alone.

    Example:
        "12" -> True;  "let me see" -> False

    Idea: rewrites need an answer in a known form.
    """
    text = one.final_text.strip()
    last = bool(one.messages) and one.messages[-1].role == "assistant" and not one.messages[-1].calls
    return last and bool(NUMBER.fullmatch(text)) and one.messages[-1].content.strip() == text


def with_question(one: Trajectory, task: Task, *, format: ChatFormat) -> Trajectory:
    """Replace the question of a rollout by that of another task, and keep all that follows.

    Args:
        one: rollout.
        task: of the other question.
        format: renders the conversation.

    Returns:
        The rollout with the other task, and with id "ID/irrelevant".

    Example:
        "3+4 =" answered 7, and "9*9 =" -> "9*9 =" answered 7

    Paper: arXiv:2506.16507 (Crome), neutral pairs of two answers to an unrelated question.
    Differs: nothing known.
    """
    first = next(i for i, message in enumerate(one.messages) if message.role == "assistant")
    messages: tuple[Message, ...] = (*task.messages, *one.messages[first:])
    made = trajectory_from_messages(format, messages, one.tools, task=task, id=f"{one.id}/irrelevant")
    return replace(made, sample=one.sample, env=one.env)
