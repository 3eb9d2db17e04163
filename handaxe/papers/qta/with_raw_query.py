"""Source of groups with the raw query as a further rewrite."""

from __future__ import annotations

import numpy as np

from handaxe.core.protocols import Reward, Rollout, Source, StageContext
from handaxe.core.records import Advantages, Group, Message, RatedGroup, Scores, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Facts

__all__ = ["with_raw_query"]


def with_raw_query(source: Source, *, reward: Reward, rollout: Rollout, reply: str) -> Source:
    """Add the rollout that leaves the query as it is to each group, with its score.

    Args:
        source: of groups of rewrites.
        reward: of the source.
        rollout: strategy of the further rollout.
        reply: the turn that leaves the query as it is.

    Returns:
        A source of as many groups, each with one more sibling. Advantages are 1 at every token of the policy.

    Example:
        rewrites with scores -3.2 and -9.1, raw query -5.3  ->  scores -3.2, -9.1, -5.3

    Paper: arXiv:2410.03212 (QTA), pairs of a query and its rewrites.
    Differs: nothing known.
    Unconfirmed: whether the raw query is a candidate in the paper.
    """

    def speaker(task: Task, facts: Facts) -> Message:
        del task, facts
        return Message("assistant", reply)

    def extended(site: StageContext) -> list[RatedGroup]:
        return [_extended(one, site) for one in source(site)]

    def _extended(one: RatedGroup, site: StageContext) -> RatedGroup:
        task = one.group.task
        raw = demonstrate(
            site.env,
            task,
            speaker,
            format=site.format,
            id=f"{one.group[0].id if len(one.group) else task.id}/raw",
            seed=derive_seed(site.seed, "raw", task.id),
            context=site.engine.max_length,
            rollout=rollout,
        )
        score = reward(Group(task, (raw,), one.group.step)).outcome
        group = Group(task, (*one.group, raw), one.group.step)
        tokens = tuple(tuple(s.mask.astype(np.float64) for s in trajectory.sequences) for trajectory in group)
        scores = Scores(np.append(one.scores.outcome, score))
        return RatedGroup.of(group, scores, Advantages(tokens), trained=np.append(one.trained, True))

    return extended
