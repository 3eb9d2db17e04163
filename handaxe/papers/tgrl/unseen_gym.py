"""Questions of reasoning-gym with unseen generators in test, answered through a tool."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.errors import TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.answer_score import answer_score
from handaxe.tools.calculator import calculator
from handaxe.worlds.gym import SMALL, gym
from handaxe.worlds.parts import reasoning_gym
from handaxe.worlds.parts.answering import answer, is_number_answer, stated_answer, submitted_answer
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["unseen_gym"]

SEEN = ("products", "chain_sum")
UNSEEN = ("basic_arithmetic", "lcm", "calendar_arithmetic")
CONFIG = {**SMALL, "basic_arithmetic": {"max_terms": 3, "max_digits": 2}}
START = Start(
    DemonstrationNoise(call_rate=0.8, corrupt_rate=0.1), skill=160, steps=15, batch_size=16, learning_rate=2e-3
)


def unseen_gym(*, seen: tuple[str, ...] = SEEN, unseen: tuple[str, ...] = UNSEEN) -> World:
    """Questions with a calculator and a tool that submits the answer and ends the rollout.

    Args:
        seen: generators of training and of half of the test tasks.
        unseen: generators of the other half of the test tasks.

    Returns:
        A world broken down by "seen" (yes or no) and "generator", with the gauge handed_in, the share of rollouts with
        an answer through the tool. An answer in words is also scored. The tool `answer` is always offered.

    Raises:
        TaskError: no generator, or a generator in both lists; an unknown generator, when tasks are made.
        InputError: reasoning-gym is not installed, when tasks are made.

    Example:
        "Solve the following multiplication: 12 * 34. ...": calculator("12 * 34") returns 408, and answer("408") ends
        the rollout
    """
    if not seen or not unseen or set(seen) & set(unseen):
        raise TaskError(f"give disjoint seen and unseen generators: {seen} and {unseen}")
    known = gym(names=(*seen, *unseen))
    expert = known.need("expert")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        weights = dict.fromkeys(seen, 1.0 / len(seen))
        if split == "test":
            weights |= dict.fromkeys(unseen, 1.0 / len(unseen))
        config = {name: settings for name, settings in CONFIG.items() if name in weights}
        made = reasoning_gym.tasks(weights, count=count, seed=seed, split=split, config=config)
        return [_with_seen(one, "yes" if one.metadata["generator"] in seen else "no") for one in made]

    def submitting(task: Task, facts: Facts) -> Message:
        message = expert(task, facts)
        call = ToolCall(answer.schema.name, {"text": message.content})
        return message if message.calls else Message("assistant", "", (call,))

    return World(
        name="unseen_gym",
        tasks=tasks,
        env=lambda tools: tool_chat([*tools, answer], final=(answer.schema.name,)),
        correct=answer_score(scorer=reasoning_gym.is_full_score, extract=stated_answer),
        tools=(calculator,),
        breakdown=("seen", "generator"),
        is_answer=is_number_answer,
        expert=submitting,
        start=START,
        gauges={"handed_in": RatioMetric(lambda one, outcome: float(bool(submitted_answer(one))))},
    )


def _with_seen(task: Task, seen: str) -> Task:
    return replace(task, metadata={**task.metadata, "seen": seen})
