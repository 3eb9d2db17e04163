"""Questions of reasoning-gym whose tests ask of kinds that training never does, answered through a tool."""

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
from handaxe.worlds.parts.answering import answer, given_answer, handed_in
from handaxe.worlds.sums import states_number
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["unseen_gym"]

SEEN = ("products", "chain_sum")
UNSEEN = ("basic_arithmetic", "lcm", "calendar_arithmetic")
CONFIG = {**SMALL, "basic_arithmetic": {"max_terms": 3, "max_digits": 2}}
START = Start(DemonstrationNoise(needed=0.8, clumsy=0.1), skill=160, steps=15, batch_size=16, learning_rate=2e-3)


def unseen_gym(*, seen: tuple[str, ...] = SEEN, unseen: tuple[str, ...] = UNSEEN) -> World:
    """Questions with a calculator and a tool that takes the answer and ends the attempt.

    Args:
        seen: generators that training asks of, and half of the tests.
        unseen: those that the other half of the tests asks of.

    Returns:
        A world broken down by "seen" (yes or no) and "generator", with the gauge handed_in, the share of attempts that
        give their answer through the tool. An answer in words counts as well. The tool `answer` is there whatever other
        tools are offered.

    Raises:
        TaskError: no generator, or one that is both; one that does not exist, when tasks are made.
        InputError: reasoning-gym is not installed, when tasks are made.

    Example:
        "Solve the following multiplication: 12 * 34. ...": calculator("12 * 34") says 408, and answer("408") ends it
    """
    if not seen or not unseen or set(seen) & set(unseen):
        raise TaskError(f"name generators that are seen, and others that are not: {seen} and {unseen}")
    known = gym(names=(*seen, *unseen))
    expert = known.need("expert")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        weights = dict.fromkeys(seen, 1.0 / len(seen))
        if split == "test":
            weights |= dict.fromkeys(unseen, 1.0 / len(unseen))
        config = {name: settings for name, settings in CONFIG.items() if name in weights}
        made = reasoning_gym.tasks(weights, count=count, seed=seed, split=split, config=config)
        return [_told(one, "yes" if one.metadata["generator"] in seen else "no") for one in made]

    def hand_in(task: Task, facts: Facts) -> Message:
        said = expert(task, facts)
        call = ToolCall(answer.schema.name, {"text": said.content})
        return said if said.calls else Message("assistant", "", (call,))

    return World(
        name="unseen_gym",
        tasks=tasks,
        env=lambda tools: tool_chat([*tools, answer], final=(answer.schema.name,)),
        correct=answer_score(scorer=reasoning_gym.right, extract=given_answer),
        tools=(calculator,),
        by=("seen", "generator"),
        answered=states_number,
        expert=hand_in,
        start=START,
        gauges={"handed_in": RatioMetric(lambda one, outcome: float(bool(handed_in(one))))},
    )


def _told(task: Task, seen: str) -> Task:
    return replace(task, metadata={**task.metadata, "seen": seen})
