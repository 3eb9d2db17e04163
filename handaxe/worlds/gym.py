"""Questions of reasoning-gym's generators, correct with full marks from the generator's scorer."""

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
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.experts import arithmetic_call, calls_then_answer
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["GYM", "SMALL", "gym"]

GYM = ("chain_sum", "products", "gcd")
"""Default generators: solvable with a tool, and too hard for a small model alone."""
SMALL: dict[str, dict[str, int]] = {
    "chain_sum": {"max_terms": 3, "max_digits": 3},
    "products": {"max_digits": 4},
}
"""Options that keep questions short enough for a policy of 0.85M parameters to copy; other generators have defaults."""
START = Start(DemonstrationNoise(call_rate=0.5, corrupt_rate=0.3))


def gym(*, names: tuple[str, ...] = GYM, last_number: bool = False, noise: float = 0.0) -> World:
    """Questions of reasoning-gym with a calculator, drawn evenly from its generators.

    Args:
        names: generators; reasoning-gym has a hundred.
        last_number: score the last number of an answer instead of its whole text, for models that answer in sentences.
        noise: share of garbled tool results; see `envs.noisy_replies`.

    Returns:
        A world broken down by "generator". Its expert calls the calculator if the item holds an expression or numbers
        to compute, and states the generator's own answer. The worked solution of a generator (such as gsm_symbolic) is
        the task's `solution`.

    Raises:
        TaskError: no generator, or an unknown generator when tasks are made.
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
            scorer=reasoning_gym.is_full_score, extract=extract.last_number if last_number else extract.final_text
        ),
        tools=(calculator,),
        breakdown=("generator",),
        is_answer=is_number_answer,
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
