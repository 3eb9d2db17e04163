"""Source of groups with the supervised chain of questions that the policy never answers."""

from __future__ import annotations

import numpy as np

from handaxe.core.protocols import Rollout, Source, StageContext
from handaxe.core.records import Advantages, Group, RatedGroup, Scores
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert

__all__ = ["with_demonstrations"]


def with_demonstrations(source: Source, *, expert: Expert, rollout: Rollout) -> Source:
    """Add the expert's chain to each group without a correct chain, as a further sibling.

    The stage's reward scores the chain, and the stage's environment replies to its calls.

    Args:
        source: of groups.
        expert: of the world; the speaker of the supervised data.
        rollout: strategy of a demonstration.

    Returns:
        A source of as many groups. Advantages of an extended group are 1 at every token of the policy.

    Example:
        outcomes 0, 0 of a question  ->  outcomes 0, 0, 1, the last one of the expert;  outcomes 0, 1 stay

    Paper: arXiv:2509.23285 (Tool-Light), positive chain of a question without a correct sample.
    Differs: the expert of the world stands for the supervised data.
    """

    def extended(site: StageContext) -> list[RatedGroup]:
        return [one if (one.scores.outcome == 1).any() else _extended(one, site) for one in source(site)]

    def _extended(one: RatedGroup, site: StageContext) -> RatedGroup:
        task = one.group.task
        shown = demonstrate(
            site.env,
            task,
            expert,
            format=site.format,
            id=f"{one.group[0].id}/demonstration" if len(one.group) else f"{task.id}/demonstration",
            seed=derive_seed(site.seed, "demonstration", task.id),
            context=site.engine.max_length,
            rollout=rollout,
        )
        score = site.reward(Group(task, (shown,), one.group.step)).outcome
        group = Group(task, (*one.group, shown), one.group.step)
        tokens = tuple(tuple(s.mask.astype(np.float64) for s in trajectory.sequences) for trajectory in group)
        scores = Scores(np.append(one.scores.outcome, score))
        return RatedGroup.of(group, scores, Advantages(tokens), trained=np.append(one.trained, True))

    return extended
