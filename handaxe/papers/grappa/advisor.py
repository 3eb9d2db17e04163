"""Advisor: writes and revises guidance functions, by a rule or by a language model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable
from handaxe.core.records import Sampling
from handaxe.methods.study_source import study_answer
from handaxe.papers.grappa.guidance_program import EXAMPLE_STATE, score_states, write_plan
from handaxe.training.stages.parts.asked_author import read_code

__all__ = [
    "Advisor",
    "GuidanceBrief",
    "asked_advisor",
    "describe_state",
    "read_guidance",
    "rule_advisor",
]

SAMPLING = Sampling(temperature=0.0, max_tokens=600)
PLANNED = re.compile(r"plan = \[([^\]]*)\]")


class GuidanceBrief(NamedTuple):
    """Request to the advisor.

    mission   of the task, in words
    program   guidance function that failed, "" for the first request
    state     grounded state at the failure; the first state for the first request
    error     of the program, "" for none
    """

    mission: str
    program: str
    state: Mapping[str, Any]
    error: str = ""


Advisor = Callable[[GuidanceBrief], str]
"""Returns a guidance function; "" for a request without an answer."""


def describe_state(brief: GuidanceBrief) -> str:
    """Describe a state for a model: hands, objects with places, and the error of the program.

    Example:
        "The agent is at [1, 1] and holds nothing. Known: door at [3, 1], locked; key at [1, 2]."
    """
    state = brief.state
    known = [
        f"{name} at {one['at']}{', ' + one['state'] if one['state'] else ''}"
        for name, one in sorted(state["objects"].items())
    ]
    text = f"The agent is at {list(state['agent'])} and holds {state['holds'] or 'nothing'}. "
    text += f"Known: {'; '.join(known) or 'nothing'}."
    return f"{text} The function failed: {brief.error}" if brief.error else text


def rule_advisor(brief: GuidanceBrief) -> str:
    """Write the plan of a rule: first the goal alone, then what blocks the way to it.

        no program           goal
        a door is not open   door, goal
        it is locked         key, door, goal

    A revision keeps the earlier plan if no door is known.

    Example:
        a failed plan goal, and a locked door in the state -> plan key, door, goal

    Paper: arXiv:2410.06473 (GRAPPA), the advisor that revises guidance after a report of the monitor.
    Differs: a rule that knows keys and doors; in the paper a language model writes the code.
    """
    if not brief.program:
        return write_plan(["goal"])
    found = PLANNED.search(brief.program)
    before = re.findall(r"\w+", found[1]) if found else []
    door = brief.state["objects"].get("door", {}).get("state", "")
    needed = {"locked": ["key", "door"], "closed": ["door"]}.get(door, [])
    plan = [name for name in ("key", "door") if name in before or name in needed]
    return write_plan([*plan, "goal"])


def read_guidance(answer: AskAnswer) -> str:
    """Read a guidance function from a text: its first block of code, which must score an example state.

    Example:
        "```python\\ndef guidance(state):\\n    return 0\\n```" -> that function; code with an error -> unreadable
    """
    code = read_code(answer.text)
    found = score_states(code, [EXAMPLE_STATE])
    if found.error:
        raise Unreadable(f"the program fails: {found.error}")
    return code


def asked_advisor(desk: AskDesk) -> Advisor:
    """Make an advisor that asks a language model for the code.

    Args:
        desk: asks the model.

    Returns:
        An advisor. An unreadable answer gives ""; a program runs in the sandbox alone.

    Raises:
        InputError: while advising, a model that is away.

    Paper: arXiv:2410.06473 (GRAPPA), the advisor agent.
    Unconfirmed: the wording of the prompt.
    """

    def advise(brief: GuidanceBrief) -> str:
        fields = {
            "mission": brief.mission,
            "example": json.dumps(EXAMPLE_STATE),
            "report": describe_state(brief),
            "program": brief.program,
        }
        prompt = find_prompt("grappa/advise", terse=desk.answerer.terse)
        (found,) = desk.ask([Ask(prompt, fields, role="advisor", sampling=SAMPLING)], read_guidance)
        return study_answer(found, role="advisor") or ""

    return advise
