"""World of chains in three domains: mathematics, time and intention."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from handaxe.core.errors import InputError, Retry
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.smart.chains import ANSWER, KINDS, ChainStep, chain_steps, demonstrator, stated
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["DOMAINS", "overuse", "smart_chains"]

DOMAINS = {"math": "code", "time": "search", "intention": "ask"}
"""Domain -> decision of its steps that need a tool."""
PATTERNS = ("kk", "kkk", "kn", "nk", "knk", "nkk")
"""Known and needed steps of a chain, drawn evenly."""
KNOWN = (1, 5)
"""Operands of known sums; the policy knows these sums by heart."""
SUMS = tuple(
    (phrase.format(f"{left}+{right}"), f"{left}+{right}={left + right}")
    for phrase in ("{0}", "say {0}")
    for left in range(KNOWN[0], KNOWN[1] + 1)
    for right in range(KNOWN[0], KNOWN[1] + 1)
)
"""Every known sum, in wordings of no task."""
START = Start(skill=260, steps=0, batch_size=16, warmup=SUMS, warmup_steps=120)


def smart_chains(*, overused: float = 0.8) -> World:
    """Questions of two or three steps; a step is a small sum, or a product, a fact that changes, or a wish of the user.

    The tools are `calculator`, `search` and `ask_user`. Each task has one domain, whose needed steps take one tool. The
    start policy calls the calculator for known steps in most tasks, without words; elsewhere it justifies each step.

    Args:
        overused: share of the tasks in which the demonstrations of the start call a tool for each step, 0 to 1.

    Returns:
        A world broken down by "domain" and "needs" (yes, or no for chains of known steps). Gauges: overuse (share of
        known steps with a call), needed (share of needed steps with a call), justified (share of steps with a
        justification in words) and calls_per_task.

    Raises:
        InputError: a share out of range.

    Example:
        "3+4; 12*34?": calculator("12*34") returns "408"; "answer 7 408". Time: "2+5; now 417?" takes search("417")

    Paper: arXiv:2502.11435 (SMART), the domains mathematics, time and intention.
    Differs: generated chains in key words; the paper rewrites MATH, FreshQA and Intention-in-Interaction.
    """
    if not 0 <= overused <= 1:
        raise InputError(f"overused is {overused}; a share of tasks is 0 to 1")
    overusing, thoughtful = demonstrator(shown="always", justify=None), demonstrator()

    def expert(task: Task, facts: Facts) -> Message:
        often = random.Random(derive_seed("overused", task.id)).random() < overused
        return (overusing if often else thoughtful)(task, facts)

    return World(
        name="smart_chains",
        tasks=_tasks,
        env=_env,
        correct=outcome(lambda one: float(final_text(one).rpartition(ANSWER)[2].strip() == one.task.answer)),
        tools=(calculator,),
        breakdown=("domain", "needs"),
        is_answer=is_text_answer,
        expert=expert,
        start=START,
        gauges={
            "overuse": overuse(),
            "needed": _share(lambda one, step: _is_called(one, step), lambda step: step.kind != "know"),
            "justified": _share(_is_justified, lambda step: True),
            "calls_per_task": RatioMetric(lambda one, _: float(len(one.calls))),
        },
    )


def overuse() -> RatioMetric:
    """Share of known steps that a rollout calls a tool for.

    Example:
        known steps 3+4 and 2+2, calls calculator("3+4") and calculator("12*34")  ->  1 of 2

    Paper: arXiv:2502.11435 (SMART), tool overuse.
    Differs: a share of steps, where the paper counts questions that the model answers correctly without tools.
    """
    return _share(_is_called, lambda step: step.kind == "know")


class _Sources:
    """Search and user of a task."""

    def __init__(self, steps: Sequence[ChainStep]):
        self._values = {(one.kind, one.query): one.value for one in steps}

    @tool(timeout=None)
    def search(self, query: Annotated[str, "a number"]) -> str:
        """Search the present value of a number."""
        return self._value("search", query)

    @tool(timeout=None)
    def ask_user(self, question: Annotated[str, "a number"]) -> str:
        """Ask the user for their value of a number."""
        return self._value("ask", question)

    def snapshot(self) -> None:
        """No state."""

    def restore(self, state: None) -> None:
        """No state."""

    def _value(self, kind: str, query: str) -> str:
        found = self._values.get((kind, query.strip()))
        if found is None:
            raise Retry("nothing is known about this")
        return found


def _env(tools: Sequence[Any]) -> EnvFactory:
    tool_chat([lambda: _Sources(()), *tools])  # raises early for bad tools

    def make(task: Task) -> Env:
        return tool_chat([lambda: _Sources(chain_steps(task)), *tools])(task)

    return make


def _tasks(split: Split, count: int, seed: int) -> list[Task]:
    check_count(split, count)
    return [_task(split, seed, number) for number in range(count)]


def _task(split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("smart chains", split, seed, number))
    while True:
        domain = rng.choice(list(DOMAINS))
        pattern = rng.choice(PATTERNS)
        steps = [_known(rng) if letter == "k" else _needed(rng, DOMAINS[domain]) for letter in pattern]
        text = stated(steps)
        if content_split("smart chain", text) == split:
            break
    metadata = {"domain": domain, "needs": "yes" if "n" in pattern else "no", "steps": [list(one) for one in steps]}
    answer = " ".join(one.value for one in steps)
    return Task(f"chain-{split}-{seed}-{number}", (Message("user", text),), answer, None, metadata)


def _known(rng: random.Random) -> ChainStep:
    left, right = rng.randint(*KNOWN), rng.randint(*KNOWN)
    return ChainStep("know", f"{left}+{right}", f"{left}+{right}", str(left + right))


def _needed(rng: random.Random, kind: str) -> ChainStep:
    if kind == "code":
        left, right = rng.randrange(11, 100), rng.randrange(11, 100)
        return ChainStep(kind, f"{left}*{right}", f"{left}*{right}", str(left * right))
    key, value = str(rng.randrange(100, 1000)), str(rng.randrange(10, 100))
    return ChainStep(kind, f"{'now' if kind == 'search' else 'my'} {key}", key, value)


def _is_called(one: Trajectory, step: ChainStep) -> bool:
    name, argument = KINDS[step.kind]
    return any(call.name == name and str(call.arguments.get(argument, "")).strip() == step.query for call in one.calls)


def _is_justified(one: Trajectory, step: ChainStep) -> bool:
    """The words of a turn state the step with a justification after it."""
    words = " ".join(turn.parsed.text for turn in one.turns)
    begins = (f"know {step.text}={step.value}: ", f"code {step.text}: ", f"{step.kind} {step.text}: ")
    return any(begin in words for begin in begins)


def _share(counts: Callable[[Trajectory, ChainStep], bool], among: Callable[[ChainStep], bool]) -> RatioMetric:
    def steps(one: Trajectory) -> list[ChainStep]:
        return [step for step in chain_steps(one.task) if among(step)]

    return RatioMetric(
        lambda one, _: float(sum(counts(one, step) for step in steps(one))), lambda one, _: float(len(steps(one)))
    )
