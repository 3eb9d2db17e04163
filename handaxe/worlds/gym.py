"""Questions of reasoning-gym's generators, right where their own scorers give all that there is to get."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import TaskError
from handaxe.core.records import Task, ToolCall
from handaxe.envs.noisy_replies import noisy_replies
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts import extract
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts import reasoning_gym
from handaxe.worlds.parts.experts import arithmetic_call, calls_then_answer
from handaxe.worlds.sums import states_number
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["GYM", "SMALL", "gym"]

GYM = ("chain_sum", "products", "gcd")
"""The generators used unless told otherwise: a tool solves them, a small model's head does not."""
SMALL: dict[str, dict[str, int]] = {
    "chain_sum": {"max_terms": 3, "max_digits": 3},
    "products": {"max_digits": 4},
}
"""Settings that keep questions within what a policy of 0.85M parameters can copy; other generators are as they come."""
START = Start(DemonstrationNoise(needed=0.5, clumsy=0.3))


def gym(*, names: tuple[str, ...] = GYM, last_number: bool = False, noise: float = 0.0) -> World:
    """Questions of reasoning-gym with a calculator, drawn from its generators in equal shares.

    Args:
        names: generators; reasoning-gym has a hundred.
        last_number: score the last number of an answer instead of its whole text, for models that speak in sentences.
        noise: share of tool replies that are garbled; see `envs.noisy_replies`.

    Returns:
        A world broken down by "generator". Its expert calls the calculator where the item holds an expression or
        numbers to work out, and says the generator's own answer. What a generator shows of its work, as gsm_symbolic
        does, is the task's `solution`.

    Raises:
        TaskError: no generator is named; a generator that does not exist, when tasks are made.
        InputError: reasoning-gym is not installed, when tasks are made.
    """
    if not names:
        raise TaskError("the data set is empty: no generators named; give 1 or more, such as chain_sum")
    weights = dict.fromkeys(names, 1.0)
    config = {name: settings for name, settings in SMALL.items() if name in weights}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return reasoning_gym.tasks(weights, count=count, seed=seed, split=split, config=config)

    return World(
        name="gym",
        tasks=tasks,
        env=lambda tools: noisy_replies(tool_chat(tools), share=noise),
        correct=answer_score(
            scorer=reasoning_gym.right, extract=extract.last_number if last_number else extract.final_text
        ),
        tools=(calculator,),
        by=("generator",),
        answered=states_number,
        expert=calls_then_answer(_calls),
        start=START,
        solution=lambda task: str(task.metadata["entry"].get("answer_cot", "")),
    )


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    entry, name = task.metadata["entry"], task.metadata["generator"]
    if name in ("gcd", "lcm"):
        return arithmetic_call(f"{name}({','.join(map(str, entry['numbers']))})", facts["tools"])
    if name in ("chain_sum", "products", "basic_arithmetic", "decimal_chain_sum"):
        return arithmetic_call(entry["expression"], facts["tools"])
    return ()
