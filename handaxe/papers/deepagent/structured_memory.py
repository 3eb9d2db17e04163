"""Folded memory of three parts, episodic, working and tool memory, by a rule or by an auxiliary model."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

from handaxe.asking.aux_question import aux_question
from handaxe.core.records import ParsedTurn, Task
from handaxe.core.requests import AuxChat, AuxRequest
from handaxe.ops.ask_aux import ask_aux
from handaxe.papers.deepagent.found_box import CALL, FIND

__all__ = ["CallEvent", "PARTS", "WRITER", "ask_memory", "memory_text", "rule_memory"]

WRITER = "memory"
"""Role that writes the memories."""
PARTS: Mapping[str, str] = {
    "episodic": "the record of the task so far: what was done, in order, with its outcome",
    "working": "the present goal, open difficulties, and the next step with its values",
    "tool": "the tools found or used, their parameters, and what was learned about their use",
}
"""Part -> its content."""


class CallEvent(NamedTuple):
    """A call and its reply, as the policy saw them. `words` are the arguments of the call as text."""

    tool: str
    words: str
    status: str
    reply: str

    def __str__(self) -> str:
        return f"{self.tool} {self.words}: {self.reply}"


def memory_text(parts: Mapping[str, str]) -> str:
    """Join the parts, a line each.

    Example:
        {"episodic": "t417 25 4071", "working": "1390 4071 7", "tool": "t417 a"} ->
        "episodic t417 25 4071\\nworking 1390 4071 7\\ntool t417 a"
    """
    return "\n".join(f"{name} {' '.join(parts[name].split())}" for name in PARTS)


def rule_memory(question: str, events: Sequence[CallEvent]) -> dict[str, str]:
    """Write the three parts for a brief task of `toolbox` from the question and the visible events alone.

        episodic   tool, arguments and result of each step that is done: a search with the step's key, and then an
                   accepted call of the found tool
        working    the remaining question, with the last result in the place of *
        tool       lines of the search results, without repetition

    Args:
        question: such as "5526 25, 1390 * 7".
        events: calls of the rollout in order.

    Example:
        find_tools 5526: t417 a and call_tool t417 25: 4071  ->  episodic "t417 25 4071", working "1390 4071 7",
        tool "t417 a"

    Paper: arXiv:2510.21618 (DeepAgent), episodic, working and tool memory.
    Differs: the rule is for chains of brief calls; the paper's memories are JSON objects by a language model.
    """
    parts = question.split(", ")
    done, last = list[str](), ""
    for part in parts:
        found = [one.reply.split()[0] for one in events if one.tool == FIND and one.words == part.split()[0]]
        calls = [one for one in events if one.tool == CALL and one.status == "ok" and one.words.split()[0] in found]
        if not calls:
            break
        done.append(f"{calls[-1].words} {calls[-1].reply}")
        last = calls[-1].reply
    rest = [" ".join(last if word == "*" else word for word in part.split()) for part in parts[len(done) :][:1]]
    lines = [line for one in events if one.tool == FIND and one.status == "ok" for line in one.reply.splitlines()]
    return {
        "episodic": ", ".join(done),
        "working": ", ".join([*rest, *parts[len(done) + 1 :]]) or last,
        "tool": ", ".join(dict.fromkeys(lines)),
    }


def ask_memory(
    task: Task, before: str, events: Sequence[CallEvent], chat: AuxChat
) -> Generator[AuxRequest, ParsedTurn, dict[str, str]]:
    """Ask an auxiliary model for the three parts, one request each.

    Args:
        task: of the rollout.
        before: text of the memory that the sequence began with, "" for none.
        events: calls since then.
        chat: of the model.

    Returns:
        Part -> text of the model, unchecked; it is quoted as data to the policy.

    Raises:
        NoReply: an empty reply, twice.

    Paper: arXiv:2510.21618 (DeepAgent), memory folding by an auxiliary model.
    Differs: short prompts with a text each, where the paper asks for JSON objects of named fields.
    """
    history = "\n".join([*([before] if before else []), *map(str, events)])
    found = dict[str, str]()
    for name, content in PARTS.items():
        fields = {"task": task.messages[-1].content, "part": f"{name} memory", "content": content, "history": history}
        said = yield from ask_aux(aux_question(WRITER, "deepagent/memory", chat, fields))
        found[name] = said.text.strip()
    return found
