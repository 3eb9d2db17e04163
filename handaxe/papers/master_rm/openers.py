"""Openers of solutions, as questions to a judge with the label no."""

from __future__ import annotations

import re
from collections.abc import Sequence

from handaxe.asking.ask import Ask
from handaxe.asking.prompt import parse_prompt
from handaxe.core.errors import InputError
from handaxe.core.records import Task, ToolCall, Trajectory, Turn
from handaxe.methods.teach_judge import NO, Labelled

__all__ = ["opener", "openers", "solution_question", "solution_text"]

PROMPT = parse_prompt(
    """+++
id = "master_rm/solution"
version = 1
trusted = ["task", "reference"]
quoted = ["response"]
labels = { yes = ["yes"], no = ["no"] }
+++
{{user}}
question: {{task}}
answer: {{reference}}
response: {{response}}
correct?
""",
    source=__file__,
)
"""The question of a verifier with a reference answer."""
SENTENCE_END = re.compile(r"(?<=[.!?:])\s|\n")


def solution_question(task: Task, response: str) -> Ask:
    """Ask whether a response solves a task; the answer of the task is the reference.

    Example:
        "What is 5*8?" with answer "40" and response ":"  ->  a prompt that ends in 'response: ":"' and 'correct?'
    """
    fields = {"task": task.messages[-1].content, "reference": str(task.answer), "response": response}
    return Ask(PROMPT, fields, about=(task.id, -1, ""))


def solution_text(trajectory: Trajectory) -> str:
    """Write a rollout as a text: a line per turn, with calls and their results.

    Example:
        a call of the calculator with 5*8, then the answer  ->  "calculator(5*8) -> 40" and "40", a line each
    """
    return "\n".join(
        " -> ".join((_written(one), *(reply.content for reply in one.replies))) for one in trajectory.turns
    )


def opener(trajectory: Trajectory) -> str:
    """Cut a solution after its first sentence or turn.

        opener = first sentence of the text of the first turn, or the first call of a turn without text

    Results of tools are left out. A sentence ends at a line break, or at one of . ! ? : before a space.

    Args:
        trajectory: the solution.

    Returns:
        The beginning as a text; "" for a solution of one sentence, which the cut would leave whole.

    Example:
        "Let us see. It is 4."              ->  "Let us see."
        call of calculator with 5*8, "40"   ->  "calculator(5*8)"
        "40"                                ->  ""

    Paper: arXiv:2507.08794 (Master-RM), the truncated outputs of the augmented training data.
    Unconfirmed: the cut after the first sentence; from summaries of the paper.
    Differs: a call counts as a sentence, since short rollouts with tools have few words.
    """
    if not trajectory.turns:
        return ""
    written = _written(trajectory.turns[0])
    first = SENTENCE_END.split(written, maxsplit=1)[0].strip()
    whole = len(trajectory.turns) == 1 and first == written
    return "" if whole else first


def openers(solutions: Sequence[Trajectory], *, most: int) -> list[Labelled]:
    """Make negative examples of a judge from the openers of solutions.

        (question of the task, opener of its solution) -> no

    A solution without an opener, and an opener that repeats at its task, are left out.

    Args:
        solutions: rollouts of the policy, in order.
        most: examples at most, 1 or more.

    Returns:
        Pairs of a question and the label "no", in the order of the solutions.

    Raises:
        InputError: `most` below 1, or no solution has an opener.

    Example:
        solutions "Let us see. It is 4.", "5" and "Hm. 6", most 2  ->  "Let us see." and "Hm.", both no

    Paper: arXiv:2507.08794 (Master-RM), adversarial negatives; 20,000 beside an ordinary training set.
    Unconfirmed: the number of examples; from memory.
    Differs: the openers are cut from rollouts of the policy, not from answers of a larger model.
    """
    if most < 1:
        raise InputError(f"most is {most}; give 1 or more openers")
    found = dict[tuple[str, str], Ask]()
    for one in solutions:
        text = opener(one)
        if text:
            found.setdefault((one.task.id, text), solution_question(one.task, text))
    if not found:
        raise InputError(
            f"none of {len(solutions)} solutions has an opener: each is one sentence. Give solutions of several turns"
        )
    return [(ask, NO) for ask in list(found.values())[:most]]


def _written(turn: Turn) -> str:
    """Write a turn without results: text and calls, or the raw text of a turn with a malformed call."""
    if turn.parsed.errors:
        return turn.parsed.raw.strip()
    return " ".join([turn.parsed.text.strip(), *map(_call, turn.parsed.calls)]).strip()


def _call(call: ToolCall) -> str:
    return f"{call.name}({', '.join(map(str, call.arguments.values()))})"
