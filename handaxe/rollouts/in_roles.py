"""Rollout of a policy in several roles, with a prompt and a sequence per turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Message, Task, ToolCall, Trajectory, Turn
from handaxe.core.requests import Attempt
from handaxe.ops.turn_positions import initial_messages
from handaxe.rollouts.play import Continuation, Play, Rules

__all__ = ["RolePrompt", "RoleTurn", "in_roles", "role_turns"]

NOTE = "roles"
"""Key of the notes with the role of each turn, and of the next one."""


class RoleTurn(NamedTuple):
    """Turn of a role.

    role     name
    text     outside calls
    calls    of the turn
    results  contents of the replies
    """

    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[str, ...] = ()


class RolePrompt(NamedTuple):
    """Prompt of the next turn.

    role   name
    text   after the opening
    """

    role: str
    text: str


Follow = Callable[[Task, Sequence[RoleTurn]], RolePrompt]
"""(task, turns so far, one or more) -> role and prompt of the next turn."""


def in_roles(*, first: str, follow: Follow, max_turns: int | Rules = 12) -> Rollout:
    """Play turns of several roles of the policy, each from the opening and a prompt for the role.

        turn 0   role `first`, reads the opening
        turn k   (role_k, prompt_k) = follow(task, turns 0 .. k - 1); reads the opening and "role_k: prompt_k"

        log pi(rollout) = sum_k log pi(turn k | opening, prompt_k)

    Each turn is a sequence of the trajectory: the tokens of all roles train, and prompts never do. Prompts hold text of
    earlier turns and tools, with control tokens escaped by the chat format. The environment ends the rollout, and must
    continue after a text for the next role.

    Args:
        first: role of the first turn.
        follow: role and prompt of a further turn.
        max_turns: turns of all roles together, or `Rules`.

    Returns:
        A rollout strategy: Attempt -> generator of requests with a trajectory as result. notes["roles"] of the
        trajectory name the role of each turn, see `role_turns`. A prompt beyond the context truncates the rollout.

    Raises:
        InputError: a limit out of range.

    Example:
        first "plan", follow = lambda task, turns: RolePrompt("act", turns[-1].text): the plan "left" in turn 0 is read
        in turn 1 as "act: left"

    Idea: agents with several roles of a single model, such as Pangu-Agent (arXiv:2312.14878) and multi-agent systems.
    """

    def continuation(play: Play) -> Continuation:
        prompt = follow(play.attempt.task, _role_turns(play.notes[NOTE], play.turns))
        play.notes[NOTE] = [*play.notes[NOTE], prompt.role]
        opening = initial_messages(play.messages, turns=len(play.turns))
        asked = Message("user", f"{prompt.role}: {prompt.text}", name=prompt.role)
        return Continuation(new_sequence=(*opening, asked))

    rules = Rules.of(max_turns, continuation=continuation)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        play.notes[NOTE] = [first]
        return [(yield from play.run())]

    return rollout


def role_turns(trajectory: Trajectory) -> list[RoleTurn]:
    """Read the turns of a trajectory of `in_roles`; [] for a trajectory of another strategy."""
    named = trajectory.notes.get(NOTE)
    if not isinstance(named, list | tuple) or not all(isinstance(one, str) for one in named):
        return []
    return _role_turns(named, trajectory.turns)


def _role_turns(roles: Sequence[str], turns: Sequence[Turn]) -> list[RoleTurn]:
    return [
        RoleTurn(role, turn.parsed.text.strip(), turn.parsed.calls, tuple(one.content for one in turn.replies))
        for role, turn in zip(roles, turns, strict=False)
    ]
