"""Question of an environment to an auxiliary policy, from a prompt file, cut to the context of the model."""

from __future__ import annotations

from collections.abc import Mapping

from handaxe.asking.ask import Ask
from handaxe.asking.policy_answerer import SHORT, place_question
from handaxe.asking.prompt import find_prompt
from handaxe.core.records import Message
from handaxe.core.requests import AuxChat, AuxRequest

__all__ = ["aux_question"]


def aux_question(role: str, prompt: str, chat: AuxChat, fields: Mapping[str, str]) -> AuxRequest:
    """Make a request. The longest quoted field loses its middle, visibly, until the question fits the context.

    Models with a context below 1,024 tokens get the terse prompt. Quoted fields are JSON strings between fences.

    Args:
        role: name of the auxiliary policy.
        prompt: id of the prompt, such as "flow_grpo/verify".
        chat: of the auxiliary policy.
        fields: of the prompt; further fields are ignored, since a terse prompt may have fewer.

    Raises:
        InputError: an unknown prompt, or a missing field.

    Example:
        "flow_grpo/verify", context 300: '12*34+5?\\nknown: "search a: b"\\nenough? yes/no' is the only message

    Idea: one place decides between long and terse prompts for all roles.
    """
    found = find_prompt(prompt, terse=chat.context < SHORT)
    known = {name: text for name, text in fields.items() if name in (*found.trusted, *found.quoted)}
    placed = place_question(Ask(found, known, role=role), chat.format, room=chat.context - chat.sampling.max_tokens)
    messages: tuple[Message, ...] = found.render(known) if placed is None else placed.messages
    return AuxRequest(role, messages)
