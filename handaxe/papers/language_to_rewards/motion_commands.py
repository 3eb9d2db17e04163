"""World of instructions to a body: the policy writes a reward for an optimiser, or calls primitive skills."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory, Turn
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.language_to_rewards.instructions import (
    MOTIONS,
    STANCES,
    Motion,
    describe_targets,
    goal_targets,
    word_instruction,
)
from handaxe.papers.language_to_rewards.motion_check import carry_out, is_carried_out
from handaxe.papers.language_to_rewards.residual_reward import Targets
from handaxe.papers.language_to_rewards.setters import read_primitives, read_setters, write_setters
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["Form", "motion_commands", "primitive_program", "read_meaning"]

Form = Literal["described", "direct", "primitives"]
START = Start(DemonstrationNoise(), skill=300, steps=0, batch_size=8, learning_rate=2e-3)


def motion_commands(*, form: Form = "described", skill: int = START.skill) -> World:
    """Instructions such as "crouched, stroll in a circle to the left" to a body in the plane.

    A rollout is correct if the body does what the instruction means in the last two seconds, by `is_carried_out`. The
    policy never moves the body itself: an optimiser executes the reward that the policy wrote, or primitive skills.

        described    describe(text) with the filled template, then reward(code) with setters
        direct       reward(code) alone
        primitives   act(code) with up to three skills, each of which is executed with fixed targets

    Args:
        form: tools of the policy.
        skill: supervised steps of the cold-start checkpoint, on demonstrations of the form.

    Returns:
        A world broken down by "kind" and "stance". No meaning is in both splits; the words are. The expert of the form
        primitives fails where an instruction needs two targets at once.

    Raises:
        InputError: an unknown form.

    Example:
        "walk, on tiptoe": describe height high, speed slow; then reward height 1.5;speed .5

    Paper: arXiv:2306.08647 (Language to Rewards), reward translator with motion descriptor and reward coder.
    Differs: a body with four axes instead of a quadruped; the descriptor is a tool call of the same policy.
    """
    if form not in get_args(Form):
        raise InputError(f"form is one of {', '.join(get_args(Form))}, not {form!r}")
    made: Mapping[Form, type[_Controller]] = {"described": _Described, "direct": _Direct, "primitives": _Skilled}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number) for number in range(count)]

    def env(tools: Sequence[Any]) -> EnvFactory:
        return tool_chat([made[form], *tools], final=["act" if form == "primitives" else "reward"])

    return World(
        name="motion_commands",
        tasks=tasks,
        env=env,
        correct=outcome(_score),
        breakdown=("kind", "stance"),
        hidden_keys=("kind", "stance", "motion"),
        is_answer=_is_answer,
        expert=_expert(form),
        start=START._replace(skill=skill),
        start_turns=2,
    )


def primitive_program(motion: Motion, stance: str) -> str:
    """Write the skills that come closest to a meaning, in order.

    Example:
        Motion(heading="east", place="north"), "" -> "go north;look east"
        Motion(speed="slow"), "low" -> "crouch;walk", at the end of which the body walks at height 1
    """
    skills = {"slow": "walk", "fast": "run", "backward": "back"}
    look = [f"look {motion.heading}"] if motion.heading else []
    parts = [{"": "", "low": "crouch", "high": "stretch"}[stance]]
    parts += look if motion.speed else []
    parts += [f"go {motion.place}"] if motion.place else []
    parts += [] if motion.speed else look
    parts += [skills[motion.speed]] if motion.speed else []
    parts += [f"spin {motion.turn}"] if motion.turn else []
    return ";".join(filter(None, parts)) or "stand"


def _task(split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("motion commands", split, seed, number))
    while True:
        kind = rng.choice(sorted({one.kind for one in MOTIONS}))
        motion = rng.choice([one for one in MOTIONS if one.kind == kind])
        stance = rng.choice(("", "", *STANCES))
        if _split(motion, stance) == split:
            break
    text = word_instruction(motion, stance, rng)
    metadata = {"kind": kind, "stance": stance or "none", "motion": list(motion)}
    return Task(f"motion-commands-{split}-{seed}-{number}", (Message("user", text),), None, metadata=metadata)


def _split(motion: Motion, stance: str) -> Split:
    return content_split("motion commands split", *motion, stance)


def read_meaning(task: Task) -> tuple[Motion, str]:
    """Read motion and stance of a task."""
    stance = task.metadata["stance"]
    return Motion(*task.metadata["motion"]), "" if stance == "none" else stance


def _expert(form: Form) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        motion, stance = read_meaning(task)
        calls: dict[Form, list[ToolCall]] = {
            "described": [ToolCall("describe", {"text": describe_targets(motion, stance)})],
            "direct": [],
            "primitives": [ToolCall("act", {"code": primitive_program(motion, stance)})],
        }
        reward = ToolCall("reward", {"code": write_setters(goal_targets(motion, stance))})
        own = [*calls[form], *([] if form == "primitives" else [reward])]
        return Message("assistant", "", (own[min(facts["turn"], len(own) - 1)],))

    return expert


def _score(one: Trajectory) -> float:
    """Whether the executed segments carry out the instruction's meaning; 0 without an execution."""
    (state,) = one.env["state"].values()
    segments = tuple(_targets(own) for own in state["executed"])
    return float(bool(segments) and is_carried_out(carry_out(segments), goal_targets(*read_meaning(one.task))))


def _targets(own: Sequence[Any]) -> Targets:
    """Inverse of the JSON of targets."""
    height, speed, turn, heading, place = own
    return Targets(height, speed, turn, heading, None if place is None else (place[0], place[1]))


def _is_answer(turn: Turn) -> bool:
    return any(reply.name in ("reward", "act") and reply.status == "ok" for reply in turn.replies)


class _Controller:
    """Holds the segments that the policy had executed."""

    def __init__(self) -> None:
        self._executed: list[Targets] = []

    def execute(self, segments: Sequence[Targets]) -> str:
        """Execute targets; the reply has no word on success."""
        self._executed = list(segments)
        carry_out(tuple(segments))
        return "done"

    def report(self) -> Mapping[str, Any]:
        """The executed targets, as JSON."""
        return {"executed": [[*own[:-1], None if own.place is None else list(own.place)] for own in self._executed]}

    def snapshot(self) -> list[Targets]:
        """Copy of the segments."""
        return list(self._executed)

    def restore(self, state: list[Targets]) -> None:
        """Restore a snapshot."""
        self._executed = list(state)


class _Direct(_Controller):
    @tool(timeout=None)
    def reward(self, code: str) -> str:
        """Set targets of the reward, and execute: height H;speed V;turn W;heading A;place X Y."""
        return self.execute([read_setters(code)])


class _Described(_Direct):
    @tool(timeout=None)
    def describe(self, text: str) -> str:
        """Describe the motion by the template: height, speed, turn, heading, place."""
        del text
        return "ok"


class _Skilled(_Controller):
    @tool(timeout=None)
    def act(self, code: str) -> str:
        """Execute up to three skills, such as crouch, walk, spin left, look north or go east, separated by ";"."""
        return self.execute(read_primitives(code))
