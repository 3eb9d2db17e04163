"""Attempts that a hint led to, as they would have been had the policy done the same unhinted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.protocols import Rollout, Source, StageContext
from handaxe.core.records import Message, Rated, Scores, Task, Trajectory
from handaxe.ops.ragged import rewards_of
from handaxe.papers.tool_star.hinted import HINT, ask_again, hinted
from handaxe.rollouts.linear import linear
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.sources import play_at
from handaxe.worlds.parts.demonstrate import demonstrate

__all__ = ["hinted_play", "without_hint"]

NOTHING: Mapping[str, Any] = {}
Plays = Callable[[int], Rollout]


def _linear(max_turns: int) -> Rollout:
    """`linear` with so many turns."""
    return linear(max_turns=max_turns)


def hinted_play(
    *,
    hint: Callable[[Task], str] = ask_again,
    steps: int = 1,
    groups: int = 16,
    group_size: int = 8,
    arguments: Mapping[str, Any] = NOTHING,
    plays: Plays = _linear,
) -> Source:
    """Groups that the policy plays now, in which an answer that no call came before is met with a hint; nothing trains.

        played    user | "14" | "Use a tool. 2*7=?" | call | reply | "14"
        becomes   user | call | reply | "14"

    An attempt that was given the hint is played once more, in the site's own environment, from the turn after the hint
    on, as `worlds.parts.demonstrate` plays an expert's: a policy that learns from it learns to call unhinted. It keeps
    its score. One that wrote something malformed after the hint does not train.

    Args:
        hint: see `papers.tool_star.hinted`.
        steps, groups, group_size: as of `train`.
        arguments: further ones of `train` in place of the site's roles; a rollout's limit of turns counts the turn
            before the hint.
        plays: most turns -> how an attempt is played once more, such as `World.plays`; `linear` unless told otherwise.

    Idea: the hint-based sampling of arXiv:2505.16410 (Tool-Star), which leaves the hint in what is learnt, as a part of
    the policy's own thought.
    """
    check_train_arguments(arguments)

    def source(site: StageContext) -> list[Rated]:
        env = hinted(arguments.get("env", site.env), hint=hint)
        chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments, "env": env}
        return [_unhinted(one, site, plays) for one in play_at(site, chosen, folder="played")]

    return source


def without_hint(one: Trajectory, site: StageContext, plays: Plays = _linear) -> Trajectory | None:
    """An attempt played once more from the turn after the hint on; itself where there was none, and None where what
    came after the hint was malformed, or does not come to its end when `plays` plays it."""
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


def _unhinted(one: Rated, site: StageContext, plays: Plays) -> Rated:
    found = [without_hint(trajectory, site, plays) for trajectory in one.group]
    able_G = np.array([trajectory is not None for trajectory in found], bool)
    kept = tuple(new or old for new, old in zip(found, one.group, strict=True))
    group = replace(one.group, trajectories=kept)
    # What was said of single turns is said of turns that are no longer there; their sum stays.
    scores = Scores(rewards_of(one.group, one.scores), channels=one.scores.channels, eligible=one.scores.eligible)
    return replace(one, group=group, scores=scores, advantages=as_rated(kept).advantages, trained=one.trained & able_G)
