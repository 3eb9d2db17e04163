"""Demonstrations from worked solutions: a tool call replaces each computation in the text."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, StageContext
from handaxe.core.records import Message, RatedGroup, Task, ToolCall, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.linear import linear
from handaxe.training.sft.supervised import as_rated
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert, Facts, World

__all__ = ["Computation", "calls_from_solutions", "computations"]

NUMBER = r"[$\u20ac\u00a3]?\d[\d,]*(?:\.\d+)?"
SIGN = r"(?:\s*[-+*/\u00d7\u00f7]\s*|\s+x\s+)"
FOUND = re.compile(
    rf"(?<![\w.=*/+-])({NUMBER}(?:{SIGN}{NUMBER})+)\s*=\s*[$\u20ac\u00a3]?(-?\d[\d,]*(?:\.\d+)?)(?![\d%])"
)
SIGNS = str.maketrans({"\u00d7": "*", "\u00f7": "/", "x": "*"} | dict.fromkeys("$\u20ac\u00a3, \t\n", ""))
"""Multiplication, division, euro and pound signs."""
TRIES = 8
"""Maximum tasks tried per wanted conversation."""


class Computation(NamedTuple):
    """Computation in a solution: the text before it, the expression, and its value."""

    before: str
    expression: str
    value: str


def calls_from_solutions(
    *, world: World, count: int, tool: str = "calculator", argument: str = "expression", easy: int = 10, seed: int = 0
) -> Source:
    """Make a source of worked solutions, rewritten with a tool call for every computation.

        "... left with 72*0.25=18 pebbles. ... back to 18+4=22 pebbles. #### 22"
        -> policy  "... left with" and a call of 72*0.25        tool  18
           policy  "18 pebbles. ... back to" and 18+4           tool  22
           policy  the task's answer

    The real tool replies. A solution is left out if none of its computations is worth a call, a reply contradicts
    the text (a reply may have more decimals), a call fails, or the conversation exceeds the engine's context.

    Args:
        world: has `solution`; the conversations are about its first training tasks with a usable solution.
        count: conversations, >= 1; up to eight tasks are tried per conversation.
        tool, argument: the computing tool, and its argument for an expression.
        easy: computations with all numbers below this stay text.
        seed: of the tasks.

    Returns:
        A source for the stage `teach`: each conversation is a separate group; fewer than `count` if the tasks run out.

    Raises:
        InputError: count below 1, a world without solutions, or no usable solution; the message gives the reason.

    Example:
        calls_from_solutions(world=gym(names=("gsm_symbolic",)), count=64), solved as its generator does

    Paper: arXiv:2512.20745 (AgentMath), tool-augmented data from text; of the same kind arXiv:2509.13761 (THOR).
    Unconfirmed: the threshold below which computations stay text.
    Differs: computations are found by pattern; in the paper a language model writes the code and its expected output
    before execution. No errors with corrections are added.
    """
    if count < 1:
        raise InputError(f"{count} conversations are nothing to learn from; give 1 or more")

    def source(site: StageContext) -> list[RatedGroup]:
        solution = world.need("solution")
        made, lost = list[RatedGroup](), Counter[str]()
        for task in world.tasks("train", count * TRIES, seed):
            if len(made) == count:
                break
            found = computations(solution(task), easy=easy)
            one = _played(world, site, task, found, tool, argument) if found else "compute nothing worth a call"
            if isinstance(one, str):
                lost[one] += 1
            else:
                made.append(as_rated([one]))
        if not made:
            why = "; ".join(f"{number} {reason}" for reason, number in lost.items())
            raise InputError(f"no solution of world {world.name!r} can be made into calls of {tool}: {why}")
        return made

    return source


def computations(solution: str, *, easy: int = 10) -> list[Computation]:
    """Return the computations of a solution, in order.

    Args:
        solution: text with computations such as 12*3=36.
        easy: computations with all numbers below this are left out.

    Example:
        computations("He has 3*4=12, so 12 x 30 = $360.")  ->  [("He has 3*4=12, so", "12*30", "360")]
    """
    found, end = [], 0
    for match in FOUND.finditer(solution):
        expression, value = match[1].translate(SIGNS), match[2].translate(SIGNS)
        if all(Decimal(number) < easy for number in re.findall(r"[\d.]+", expression)):
            continue
        found.append(Computation(solution[end : match.start()].strip(), expression, value))
        end = match.start(2)
    return found


class _LeftOut(Exception):
    """Unusable solution, with the reason."""


def _played(
    world: World, site: StageContext, task: Task, found: list[Computation], tool: str, argument: str
) -> Trajectory | str:
    """Play the conversation; returns the reason if it is unusable."""
    try:
        one = demonstrate(
            world.env(world.tools),
            task,
            _speaker(found, tool, argument),
            format=site.format,
            id=f"{task.id}/from-solution",
            seed=derive_seed("calls from solutions", task.id),
            context=site.engine.max_length,
            rollout=linear(max_turns=len(found) + 1),
        )
    except _LeftOut as error:
        return str(error)
    return one if one.ending.kind == "completed" else "do not fit into the context, or their tool died"


def _speaker(found: list[Computation], tool: str, argument: str) -> Expert:
    def speak(task: Task, facts: Facts) -> Message:
        k = facts["turn"]
        if k:
            _compare(found[k - 1].value, facts["replies"][-1], facts["statuses"][-1])
        if k == len(found):
            return Message("assistant", str(task.answer))
        return Message("assistant", found[k].before, (ToolCall(tool, {argument: found[k].expression}),))

    return speak


def _compare(said: str, reply: str, status: str) -> None:
    """Raise if the tool's reply differs from the solution's value, at the solution's number of decimals."""
    if status != "ok":
        raise _LeftOut("compute what the tool cannot")
    try:
        apart = abs(Decimal(reply.strip()) - Decimal(said))
    except InvalidOperation:
        raise _LeftOut("are answered by something that is no number") from None
    decimals = len(said.partition(".")[2])
    if apart > Decimal(5).scaleb(-decimals - 1):
        raise _LeftOut("are contradicted by the tool")
