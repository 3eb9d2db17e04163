"""Worked solutions in words, rewritten so that a tool computes what they compute, as something to learn from."""

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
"""Signs of times, divided by, euro and pound."""
TRIES = 8
"""Tasks looked at for each conversation that is wanted."""


class Computation(NamedTuple):
    """A computation in a solution: what is said before it, what is computed, and what that makes."""

    before: str
    expression: str
    value: str


def calls_from_solutions(
    *, world: World, count: int, tool: str = "calculator", argument: str = "expression", easy: int = 10, seed: int = 0
) -> Source:
    """Make a source of conversations in which a worked solution calls a tool wherever it computes.

        "... left with 72*0.25=18 pebbles. ... back to 18+4=22 pebbles. #### 22"
        -> policy  "... left with" and a call of 72*0.25        tool  18
           policy  "18 pebbles. ... back to" and 18+4           tool  22
           policy  the task's answer

    The tool really answers. A solution is left out where nothing in it is worth a call, where a reply contradicts what
    it says (a reply may have more decimals), where a call fails, and where it does not fit into the engine's context.

    Args:
        world: has `solution`; the conversations are about its first training tasks that can be rewritten.
        count: conversations, >= 1; up to eight times as many tasks are looked at.
        tool, argument: what computes, and the name of the argument that takes an expression.
        easy: computations in which every number is below this stay words.
        seed: of the tasks.

    Returns:
        A source for the stage `teach`: each conversation a group of its own; fewer than `count` where the tasks hold no
        more.

    Raises:
        InputError: count below 1, a world without solutions, or not one that can be rewritten; the message says why.

    Example:
        calls_from_solutions(world=gym(names=("gsm_symbolic",)), count=64), solved as its generator does

    Paper: arXiv:2512.20745 (AgentMath), tool-augmented data from text; of the same kind arXiv:2509.13761 (THOR).
    Unconfirmed: what is easy enough to stay words.
    Differs: computations are found by pattern and not by a language model, which in the paper writes code and what it
    prints before it is run; no errors with their corrections are added.
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
    """What a solution computes, in order.

    Args:
        solution: in words, with computations such as 12*3=36 among them.
        easy: those whose numbers are all below this are left out.

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
    """A solution that is no example; says why."""


def _played(
    world: World, site: StageContext, task: Task, found: list[Computation], tool: str, argument: str
) -> Trajectory | str:
    """The conversation, or why there is none."""
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
    """Leave the solution out unless the reply is what it says, at as many decimals as it says."""
    if status != "ok":
        raise _LeftOut("compute what the tool cannot")
    try:
        apart = abs(Decimal(reply.strip()) - Decimal(said))
    except InvalidOperation:
        raise _LeftOut("are answered by something that is no number") from None
    decimals = len(said.partition(".")[2])
    if apart > Decimal(5).scaleb(-decimals - 1):
        raise _LeftOut("are contradicted by the tool")
