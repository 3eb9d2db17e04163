"""Replay of recorded groups without a model: the policy's turns come from the record, all else runs again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from handaxe.core.errors import RecordError
from handaxe.core.records import STOPPED, Group, Trajectory
from handaxe.core.requests import Attempt
from handaxe.core.validation import check_group
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.training.replay.answers import DepartError, FromRecord, Setup
from handaxe.training.replay.discrepancies import Discrepancy, discrepancies

__all__ = ["Replayed", "group_attempts", "replay"]


@dataclass(frozen=True)
class Replayed:
    """Recorded trajectory and its discrepancies in the replay; none if equal."""

    trajectory: Trajectory
    differences: tuple[Discrepancy, ...]


def replay(group: Group, setup: Setup, *, only: str | None = None) -> list[Replayed]:
    """Replay every rollout of a recorded group, in order.

    A Sample is answered with the recorded turn of its seed, after comparing its ids with the recorded ones; a
    difference ends the rollout's replay. An Act is answered by the record or by the tools. External events are repeated
    from the record: a stopped rollout is stopped at the same token, and an infrastructure failure recurs, with real
    tools too. Seconds are the recorded ones, so that budgets end at the same turn.

    Args:
        group: as recorded, superseded and stopped rollouts included. Forks are replayed with their origin.
        setup: parts of the replay.
        only: id of a trajectory; only its rollout is replayed.

    Returns:
        One result per replayed trajectory, in the order of the group.

    Raises:
        InputError: rollout, format or environment reject the task.
    """
    attempts = group_attempts(group)
    samples = sorted({one[0].sample for one in attempts})
    if only is not None:
        attempts = [one for one in attempts if any(trajectory.id == only for trajectory in one)]
    chosen = {trajectory.id for one in attempts for trajectory in one}
    played = [one for one in group if one.id in chosen]
    found: dict[str, list[Discrepancy]] = {one.id: [] for one in played}
    try:
        check_group(replace(group, trajectories=tuple(played)))
    except RecordError as error:
        named = [one.id for one in played if f"trajectory {one.id!r} " in str(error)]
        found[(named or list(found))[0]].append(Discrepancy((named or list(found))[0], "record", str(error), ""))
    for one in attempts:
        for difference in _differences(one, setup, step=group.step, samples=samples):
            found.setdefault(difference.trajectory, []).append(difference)
    return [Replayed(one, tuple(found[one.id])) for one in played]


def group_attempts(group: Group) -> list[list[Trajectory]]:
    """Group trajectories by rollout: each root with its direct and indirect forks."""
    attempts: dict[str, list[Trajectory]] = {}
    for one in group:
        attempts.setdefault(_root(one, group).id, []).append(one)
    return list(attempts.values())


def _root(one: Trajectory, group: Group) -> Trajectory:
    """Root of a trajectory: itself, or the root of its fork's origin."""
    siblings = {sibling.id: sibling for sibling in group}
    seen = {one.id}
    while one.branch_of and one.branch_of.trajectory in siblings.keys() - seen:
        one = siblings[one.branch_of.trajectory]
        seen.add(one.id)
    return one


def _differences(
    recorded: Sequence[Trajectory], setup: Setup, *, step: int, samples: Sequence[int]
) -> list[Discrepancy]:
    """Discrepancies of one rollout, in a group of rollouts with these samples."""
    first, answers = recorded[0], FromRecord(recorded, setup)
    attempt = Attempt(
        task=first.task,
        env=answers.make,
        format=setup.format,
        sampling=first.turns[0].sampling if first.turns else setup.sampling,
        id=first.id,
        sample=first.sample,
        seed=first.seed,
        context=setup.context,
        step=step,
        sibling=samples.index(first.sample),
        siblings=len(samples),
        aux_policies=setup.aux_policies,
    )
    try:
        made = run_plan(
            setup.rollout(attempt),
            sample=answers.speak,
            act=answers.act,
            work=answers.work,
            measure=answers.measure,
            name=first.id,
        )
    except DepartError as depart:
        others = [one.id for one in recorded if one.id != depart.difference.trajectory]
        why = f"not played to its end, since {depart.difference.trajectory} departs"
        return [*answers.differences, depart.difference, *(Discrepancy(id, "ids", "played", why) for id in others)]
    again, differences = {one.id: one for one in made}, answers.differences
    for one in recorded:
        if one.id in again:
            state = setup.tools and _reports(one)
            found = discrepancies(one, again[one.id], ending=one.id not in answers.cut, state=state)
            found += _of_asked(one, again[one.id], answers.cut, env=setup.tools)
            told = {(d.trajectory, d.what) for d in differences}
            differences += [d for d in found if (d.trajectory, d.what) not in told]
        else:
            differences.append(Discrepancy(one.id, "ids", "played", "no such trajectory is returned"))
    extra = again.keys() - {one.id for one in recorded}
    return differences + [
        Discrepancy(first.id, "ids", "not there", f"{id} is returned, too") for id in again if id in extra
    ]


def _of_asked(recorded: Trajectory, again: Trajectory, cut: set[str], *, env: bool) -> list[Discrepancy]:
    """Discrepancies of auxiliary turns, attributed to their rollout. With replies from the record (`env` False)
    auxiliary policies get no requests, and missing turns are no discrepancy.
    """
    said = {one.id: one for one in again.aux_turns}
    found = [
        Discrepancy(recorded.id, "ids", f"{one.id} was asked", "nobody of this name is")
        for one in recorded.aux_turns
        if env and one.id not in said
    ]
    for one in recorded.aux_turns:
        if one.id in said:
            found += discrepancies(one, said[one.id], ending=one.id not in cut)
    return [one._replace(trajectory=recorded.id) for one in found]


def _reports(one: Trajectory) -> bool:
    return one.ending.kind != "infra_error" and one.ending != STOPPED
