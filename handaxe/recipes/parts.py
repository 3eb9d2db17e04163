"""What recipes share: a policy, a world, and how it is evaluated. Each function gives keyword arguments of `train`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from handaxe.engines.local import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.tool_choice import tool_choice
from handaxe.errors import TaskError
from handaxe.evaluation.result import Evaluation
from handaxe.evaluation.run import evaluate
from handaxe.models.load import Policy, load
from handaxe.records import Sampling, Task, ToolCall, Turn
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.graded_call import graded_call
from handaxe.rewards.parts import extract
from handaxe.rollouts.linear import linear
from handaxe.selection.in_order import in_order
from handaxe.slots import Engine, EnvFactory, Reward
from handaxe.tools.calculator import calculator
from handaxe.tools.compute import compute
from handaxe.tools.python import python
from handaxe.worlds import arithmetic, reasoning_gym

__all__ = [
    "GYM",
    "HeldOut",
    "SMALL",
    "SUMS",
    "ToolName",
    "World",
    "calls_world",
    "gym_world",
    "player",
    "reference_calls",
    "states_number",
    "toolbox",
]

GYM = ("chain_sum", "products", "gcd")
"""The reasoning-gym generators that recipes use unless told otherwise: a tool solves them, a tiny head does not."""

SMALL: dict[str, dict[str, int]] = {
    "chain_sum": {"max_terms": 3, "max_digits": 3},
    "products": {"max_digits": 4},
}
"""Generator settings that keep questions within what a 0.85M-parameter policy can copy; the others are as they come."""

SUMS = "sums"
"""The name of handaxe's own arithmetic among the generators."""

ToolName = Literal["calculator", "python", "compute"]


class World(NamedTuple):
    """Tasks to train on, tasks held out, the environment they live in, and what counts as correct."""

    train: list[Task]
    held_out: list[Task]
    env: EnvFactory
    correct: Reward


class HeldOut(NamedTuple):
    """Evaluates an engine on held-out tasks; `train` calls it as (engine, steps done)."""

    world: World
    parts: dict[str, Any]
    samples: int
    seed: int

    def evaluation(self, engine: Engine) -> Evaluation:
        """The whole evaluation, with intervals."""
        return evaluate(
            engine=engine,
            env=self.world.env,
            format=self.parts["format"],
            rollout=self.parts["rollout"],
            tasks=self.world.held_out,
            reward=self.world.correct,
            sampling=self.parts["sampling"],
            samples=self.samples,
            seed=self.seed,
            by=("generator",),
        )

    def __call__(self, engine: Engine, steps_done: int) -> dict[str, Any]:
        """Flat numbers for metrics, and the whole as JSON text under "evaluation"."""
        found = self.evaluation(engine)
        return {**found.flat(), "evaluation": found.to_json(), "steps": float(steps_done)}


def toolbox(names: Sequence[ToolName]) -> list[Any]:
    """The tools of these names; `python` is made anew for every attempt."""
    shelf: dict[str, Any] = {"calculator": calculator, "compute": compute, "python": python}
    return [shelf[name] for name in names]


def gym_world(
    *,
    names: Sequence[str] = GYM,
    tools: Sequence[ToolName] = ("calculator",),
    train: int = 4096,
    held_out: int = 200,
    last_number: bool = False,
    seed: int = 0,
) -> World:
    """Tasks that tools help with; train and held-out items never overlap.

    Args:
        names: reasoning-gym generators, scored by their own scorers, and "sums" for handaxe's own arithmetic, half of
            which needs no tool. Tasks are drawn from all in equal shares.
        tools: tools offered.
        train, held_out: how many tasks of each.
        last_number: score the last number of an answer instead of its whole text, for models that speak in sentences.
        seed: of the training tasks; the held-out ones are always the same.

    Raises:
        TaskError: no name, or no task of either kind.
    """
    if not names or train < 1 or held_out < 1:
        raise TaskError(
            f"the data set is empty: {len(names)} generators named, {train} tasks to train on, {held_out} held out; "
            "give 1 or more of each"
        )
    gym = {name: 1.0 for name in names if name != SUMS}
    share = len(gym) / len(names)
    config = {name: settings for name, settings in SMALL.items() if name in gym}

    def draw(count: int, seed: int, split: Literal["train", "test"]) -> list[Task]:
        ours = count - round(count * share)
        own = arithmetic.tasks(count=ours, seed=seed, split=split) if ours else []
        own = [replace(one, metadata={**one.metadata, "generator": SUMS}) for one in own]
        return own + (
            reasoning_gym.tasks(gym, count=count - ours, seed=seed, split=split, config=config) if gym else []
        )

    return World(
        train=draw(train, seed, "train"),
        held_out=draw(held_out, 0, "test"),
        env=tool_chat(toolbox(tools)),
        correct=answer_score(scorer=_score, extract=extract.last_number if last_number else extract.final_text),
    )


def calls_world(*, train: int = 4096, held_out: int = 200, seed: int = 0) -> World:
    """Single decisions: write the call of `compute` that answers the question; correct means equal to the reference."""
    return World(
        train=arithmetic.tasks(count=train, seed=seed, split="train", gold="compute"),
        held_out=arithmetic.tasks(count=held_out, seed=0, split="test", gold="compute"),
        env=tool_choice([compute.schema]),
        correct=graded_call(grade="coarse", scale=1.0, gold=reference_calls),
    )


def reference_calls(task: Task) -> tuple[ToolCall, ...]:
    """The calls that the arithmetic world keeps as reference."""
    return tuple(ToolCall(one["name"], one["arguments"]) for one in task.metadata["gold_calls"])


def states_number(turn: Turn) -> bool:
    """Whether the text of a turn holds a digit: an answer, in worlds where answers are numbers."""
    return any(character.isdigit() for character in turn.parsed.text)


def _score(task: Task, text: str) -> float:
    """A generator's own score; for handaxe's own arithmetic 1 where the text is the answer."""
    if task.metadata["generator"] == SUMS:
        return float(text.strip() == task.answer)
    return reasoning_gym.score(task, text)


def player(
    world: World,
    *,
    model: str | Policy,
    seed: int,
    max_turns: int = 3,
    max_tokens: int = 48,
    critic: bool = False,
    reference: bool = False,
    weight_decay: float = 0.0,
    eval_samples: int = 1,
    eval_every: int = 1_000_000,
) -> dict[str, Any]:
    """Engine, chat format, environment, curriculum, rollout, sampling and evaluation.

    Args:
        world: what is played.
        model: see handaxe.models.load.
        seed: of the order of tasks and of every draw.
        max_turns, max_tokens: turns of an attempt, tokens of a turn.
        critic, reference: what the loss needs of the engine.
        eval_samples: attempts at a held-out task.
        eval_every: steps between evaluations; before the first step and after the last there always is one.
    """
    policy = load(model)
    engine = LocalEngine(policy.model, critic=critic, reference=reference, weight_decay=weight_decay, max_rows=64)
    parts: dict[str, Any] = {
        "engine": engine,
        "format": policy.format,
        "env": world.env,
        "tasks": in_order(world.train, seed=seed),
        "rollout": linear(max_turns=max_turns),
        "sampling": Sampling(max_tokens=max_tokens),
        "seed": seed,
        "eval_every": eval_every,
        "micro_batch_rows": 16,
    }
    return {**parts, "evaluate": HeldOut(world, parts, eval_samples, 0)}
