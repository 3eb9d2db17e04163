"""Recorded groups of tests, from flags per rollout."""

from dataclasses import replace

import numpy as np

from handaxe.core.records import Advantages, PlayedGroup, RatedGroup, ScoredGroup
from handaxe.training.record.earlier_formats import earlier_dispositions


def recorded_group(
    group,
    scores=None,
    advantages=None,
    *,
    scored=None,
    trained=None,
    fate="trained",
    left_out_by=None,
    ages=None,
    part=0,
    moved=None,
    updated=True,
):
    """Return the group as a step with these decisions leaves it.

    Args:
        group: all P rollouts.
        scores: of the G scored rollouts; None for a group without scores.
        advantages: of the G scored rollouts; 0 at every token by default.
        scored, trained: [P] bool; all rollouts by default. Without scores none is scored.
        left_out_by: P names of selectors.
        ages: [P] ages in steps.
        moved: per scored rollout and sequence [T] bool.
        updated: whether the step took an optimiser step.
    """
    every = np.ones(len(group), bool)
    scored = every & (scores is not None) if scored is None else np.asarray(scored, bool)
    trained = scored if trained is None else np.asarray(trained, bool) & scored
    outcomes = np.full(len(group), np.nan)
    if scores is not None:
        outcomes[scored] = scores.outcome
    rows = [
        {
            "scored": bool(scored[i]),
            "trained": bool(trained[i]),
            "outcome": None if np.isnan(outcomes[i]) else outcomes[i],
            "left_out_by": None if left_out_by is None else left_out_by[i],
        }
        for i in range(len(group))
    ]
    dispositions = earlier_dispositions(group.trajectories, rows, fate=fate, updated=updated)
    played = PlayedGroup(group, dispositions, ages)
    if scores is None:
        return played
    siblings = played.siblings(scored)
    if advantages is None:
        advantages = Advantages(tuple(tuple(np.zeros(len(s)) for s in t.sequences) for t in siblings))
    live = fate == "trained"
    found = ScoredGroup(played, siblings, scores)
    return RatedGroup(found, advantages, trained[scored], part=part, live=live, moved=moved)


def with_rollouts(one, group):
    """Return a RatedGroup with other rollouts, all under the decisions of the rollouts in their places."""
    scored = np.array([one.place(index) is not None for index in range(len(one.played.group))])
    played = replace(one.played, group=group)
    return replace(one, scored=replace(one.scored, played=played, group=played.siblings(scored)))
