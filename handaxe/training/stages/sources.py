"""Sources of a stage's training groups: (StageContext) -> [RatedGroup]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum, Source, StageContext
from handaxe.core.records import RatedGroup, ScoredGroup, Trajectory
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.losses.cross_entropy import cross_entropy
from handaxe.ops.seeds import derive_seed
from handaxe.training.loop.config import RunConfig, Updates
from handaxe.training.loop.train import train
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.record.groups import RecordedGroup
from handaxe.training.record.run_record import RunRecord
from handaxe.training.sft.supervised import as_rated, stage_run

__all__ = ["joined", "leave_step", "play_at", "played", "rated_groups", "recorded", "scripted"]

NOTHING: Mapping[str, Any] = {}
NO_STEP = -1
CREDIT = constant_baseline()
LOSS = cross_entropy()
UPDATES = Updates()
RUN = RunConfig()


def played(*, steps: int = 1, groups: int = 16, group_size: int = 8, arguments: Mapping[str, Any] = NOTHING) -> Source:
    """Groups freshly played by the policy, without training. They are recorded in the stage's folder `played`.

    Args:
        steps, groups, group_size: as in `train`.
        arguments: further arguments of `train`, instead of the context's roles, such as {"rollout": ..., "reward":
            ...}.
    """
    check_train_arguments(arguments)
    chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments}
    return lambda site: play_at(site, chosen, folder="played")


def recorded(*, folder: Path, step: int | None = None) -> Source:
    """Scored groups of a recorded run, of one step or all."""

    def source(site: StageContext) -> list[RatedGroup]:
        del site
        with RunRecord.open(folder) as record:
            return rated_groups(record.groups(step=step))

    return source


def scripted(*, trajectories: Sequence[Trajectory] | Callable[[StageContext], Iterable[Trajectory]]) -> Source:
    """Given trajectories, or trajectories that a function makes for the context's chat format; each is a separate group
    with advantage 1 at every token of the policy. See `training.sft.scripted` and `training.sft.cold_start`.
    """

    def source(site: StageContext) -> list[RatedGroup]:
        return [as_rated([one]) for one in (trajectories(site) if callable(trajectories) else trajectories)]

    return source


def joined(*, sources: Sequence[Source]) -> Source:
    """Groups of several sources, in order. Each source has a separate folder and seed."""

    def source(site: StageContext) -> list[RatedGroup]:
        found: list[RatedGroup] = []
        for k, one in enumerate(sources):
            out = None if site.out is None else site.out / f"source-{k}"
            found += one(site._replace(out=out, seed=derive_seed(site.seed, "source", k)))
        return found

    return source


def play_at(site: StageContext, arguments: Mapping[str, Any], *, folder: str = "") -> list[RatedGroup]:
    """Play with a context's roles, replaced by these arguments of `train`, without training.

    Returns:
        The scored groups; advantages are the rewards unless `arguments` name a credit.

    Raises:
        KeyboardInterrupt: on Ctrl-C; the play can be resumed.
    """
    seen = _Seen()
    roles = {name: getattr(site, name) for name in ("env", "tasks", "rollout", "reward", "sampling")}
    chosen = {"credit": CREDIT, **roles, **arguments, "seed": site.seed}
    learners = (*chosen.pop("learners", ()), seen)
    updates = replace(chosen.pop("updates", UPDATES), epochs=0)
    run = replace(chosen.pop("run", RUN), checkpoint_every=1, checkpoints=1)
    result = train(
        engine=site.engine,
        format=site.format,
        loss=LOSS,
        learners=learners,
        updates=updates,
        run=stage_run(site, run, folder=folder),
        **chosen,
    )
    if result.stopped:
        raise KeyboardInterrupt
    if "tasks" not in arguments:
        leave_step(site.tasks)
    if result.path is None:
        return seen.groups
    with RunRecord.open(result.path) as record:
        return rated_groups(record.groups())


def leave_step(tasks: Curriculum) -> None:
    """Advance a curriculum by a step, so that the next user of its first step gets other tasks."""
    tasks.next(NO_STEP, 0)


def rated_groups(groups: Sequence[RecordedGroup]) -> list[RatedGroup]:
    """Return the scored groups of a record, as rated.

    Raises:
        InputError: a record with scores and without advantages.
    """
    out = []
    for one in groups:
        if isinstance(one, RatedGroup):
            out.append(one)
        elif isinstance(one, ScoredGroup):
            raise InputError(f"the group of task {one.group.task.id!r} was recorded without advantages")
    return out


class _Seen:
    """Learner that only stores its groups."""

    def __init__(self) -> None:
        self.groups: list[RatedGroup] = []

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        del step
        self.groups += groups
        return {}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
