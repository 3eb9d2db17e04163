"""Rollouts sampled with a hint, stored with the hint removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.protocols import Rollout, Source, StageContext
from handaxe.core.records import Message, RatedGroup, Scores, Task, Trajectory
from handaxe.ops.ragged import group_rewards
from handaxe.papers.tool_star.hinted_env import HINT, hinted, tool_hint
from handaxe.rollouts.linear import linear
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.sources import play_at
from handaxe.worlds.parts.demonstrate import demonstrate

__all__ = ["hinted_play", "without_hint"]

NOTHING: Mapping[str, Any] = {}
Plays = Callable[[int], Rollout]


def _linear(max_turns: int) -> Rollout:
    """`linear` with a turn limit."""
    return linear(max_turns=max_turns)


def hinted_play(
    *,
    hint: Callable[[Task], str] = tool_hint,
    steps: int = 1,
    groups: int = 16,
    group_size: int = 8,
    arguments: Mapping[str, Any] = NOTHING,
    plays: Plays = _linear,
) -> Source:
    """Make a source of groups sampled with hints after answers without a tool call; nothing trains.

        sampled    user | "14" | "Use a tool. 2*7=?" | call | reply | "14"
        stored     user | call | reply | "14"

    A hinted rollout is played again in the stage's own environment from the turn after the hint on, as
    `worlds.parts.demonstrate` plays an expert's: a policy that learns from it calls without a hint. The score is kept.
    A rollout with a malformed turn after the hint does not train.

    Args:
        hint: see `papers.tool_star.hinted_env`.
        steps, groups, group_size: as for `train`.
        arguments: further arguments of `train`, which override the stage's roles; a turn limit counts the turn before
            the hint.
        plays: turn limit -> rollout strategy of the second play, such as `World.make_rollout`; by default `linear`.

    Example:
        groups 2, group_size 8  ->  16 rollouts without a message named "hint"

    Idea: the hint-based sampling of arXiv:2505.16410 (Tool-Star), which leaves the hint in the learned text, as a part
    of the policy's thought.
    """
    check_train_arguments(arguments)

    def source(site: StageContext) -> list[RatedGroup]:
        env = hinted(arguments.get("env", site.env), hint=hint)
        chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments, "env": env}
        return [_unhinted(one, site, plays) for one in play_at(site, chosen, folder="played")]

    return source


def without_hint(one: Trajectory, site: StageContext, plays: Plays = _linear) -> Trajectory | None:
    """Play a trajectory again from the turn after the hint on. Return it unchanged without a hint, and None if a turn
    after the hint is malformed or the second play does not complete.
    """
    place = next((k for k, message in enumerate(one.messages) if message.name == HINT), None)
    if place is None:
        return one
    said = [message for message in one.messages[place:] if message.role == "assistant"]
    if not said or any(turn.parsed.errors or turn.finish != "stop" for turn in one.turns[1:]):
        return None

    def again(task: Task, facts: Mapping[str, Any]) -> Message:
        del task
        return said[facts["turn"]]

    made = demonstrate(
        site.env,
        one.task,
        again,
        format=site.format,
        id=f"{one.id}/unhinted",
        seed=one.seed,
        rollout=plays(len(said)),
    )
    return replace(made, sample=one.sample) if made.ending.kind == "completed" else None


def _unhinted(one: RatedGroup, site: StageContext, plays: Plays) -> RatedGroup:
    found = [without_hint(trajectory, site, plays) for trajectory in one.group]
    able_G = np.array([trajectory is not None for trajectory in found], bool)
    kept = tuple(new or old for new, old in zip(found, one.group, strict=True))
    group = replace(one.group, trajectories=kept)
    # What was said of single turns is said of turns that are no longer there; their sum stays.
    scores = Scores(group_rewards(one.group, one.scores), channels=one.scores.channels, eligible=one.scores.eligible)
    advantages = as_rated(kept).advantages
    return replace(one.with_group(group, scores), advantages=advantages, trained=one.trained & able_G)
