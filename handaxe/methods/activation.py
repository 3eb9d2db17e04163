"""Evidence of an acting mechanism: named figures of runs, and the difference between the updates of method and base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.protocols import Engine
from handaxe.core.records import STOPPED, RatedGroup, Task
from handaxe.engines.local.checkpoint_files import read_state
from handaxe.evaluation.acts import Activation, ActivationStep, SeenAct
from handaxe.evaluation.figures import STAGES, TRAINING, RunFigures
from handaxe.methods.base_side import BaseSide
from handaxe.methods.batch_difference import batch_difference, unplayable_rollouts
from handaxe.methods.build import build, make_method, make_updates, make_world
from handaxe.methods.method import Method
from handaxe.methods.paper import MethodPage
from handaxe.methods.run import run_built
from handaxe.methods.run_spec import RunSpec, base_spec
from handaxe.ops.random_state import kept_random_state
from handaxe.ops.seeds import generator
from handaxe.selection.parts.dispositions import part_name
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.learners import begin_all
from handaxe.training.loop.rate import rewinder
from handaxe.training.loop.schedule import rate_at
from handaxe.training.loop.update import update
from handaxe.training.record.value_fingerprint import fingerprint

__all__ = ["measure_activation", "seen_acts", "update_angle"]


def seen_acts(page: MethodPage, runs: Sequence[RunFigures]) -> tuple[SeenAct, ...]:
    """Measure the acts of a method in finished runs.

    Args:
        page: of the method.
        runs: of the method; one or more.

    Returns:
        For each act the mean over the runs with its figure: of a training figure the mean over the steps, of a
        figure of a stage the mean over its rows, NaN for a stage that took no step, of any other figure the value of
        the last evaluation.

    Raises:
        InputError: there is no run, or no run has the figure of an act.
    """
    if not runs:
        raise InputError(f"the acts of {page.name} are figures of runs: give one run or more")
    found = []
    for act in page.acts:
        values, problem = list[float](), ""
        for run in runs:
            try:
                series = run.series(act.figure).values
            except InputError as error:
                problem = str(error)
                continue
            known = series[np.isfinite(series)] if act.figure.startswith((TRAINING, STAGES)) else series[-1:]
            values += [float(known.mean())] if len(known) else []
        if not values and problem:
            raise InputError(f"no run of {page.name} has the figure of its act {act.figure!r}: {problem}")
        found.append(SeenAct(act.figure, act.at_least, float(np.mean(values)) if values else nan))
    return tuple(found)


def measure_activation(spec: RunSpec, *, steps: int) -> Activation:
    """Train a method for a number of steps, and compare update and batch with the base at three steps.

    The steps are the first, the middle and the last. Both updates begin at the same weights and optimiser state. The
    base applies reward, credit, selection, transform, loss and optimiser steps of the base to the groups of the method.
    A run has equal metrics with and without a measurement.

        update angle      1 - cos(u_method, u_base), u the change of the policy's weights by all optimiser steps of the
                          training step; 0 for equal updates, 2 for opposite updates, 0 for two updates of length 0, 1
                          for a single update of length 0
        batch difference  share of trained tokens with another weight or mask, or of rollouts, tasks or weights
                          without a counterpart in the base; see `methods.batch_difference`

    AdamW divides a gradient by a running scale, and the engine clips the norm. Advantages with a common factor
    therefore have an update angle near 0 and a batch difference of 1: the factor changes no training. At the first step
    the update is close to the sign of the gradient, and small gradients count as much as large gradients. At later
    steps both updates share the momentum of earlier steps, and the angle shrinks: opposite gradients have an angle of 2
    at the first step only.

    Args:
        spec: method, base, world, engine and settings.
        steps: training steps, >= 1, instead of the steps of the settings.

    Returns:
        The figures of each measured step. The angle is NaN, with a reason, if the base cannot update on the groups.

    Raises:
        InputError: the method has no base, or an option does not fit.
    """
    if steps < 1:
        raise InputError(f"steps is {steps}; give 1 or more")
    settings = replace(spec.settings, steps=steps, held_out=1, samples=1, eval_every=0, stop_when=(), patience=0)
    spec = replace(spec, settings=settings)
    method = make_method(spec, make_world(spec))
    base = base_spec(spec)
    theirs = make_method(base, make_world(base))
    features = tuple(dict.fromkeys((*method.annotate, *theirs.annotate)))
    made = build(spec, method=replace(method, annotate=features)) | {"updates": make_updates(method)}
    probe = _Probe(made, method, BaseSide.of(base, theirs, made))
    watched = {**made, "transform": _Watched(made["transform"], probe), "learners": (*made["learners"], probe)}
    run_built(replace(method, closing=()), watched, RunConfig(progress=False))
    probe.close()
    return Activation(base.name, tuple(probe.steps), _beside(method, theirs, trains=probe.trains))


def update_angle(ours: np.ndarray, theirs: np.ndarray) -> float:
    """1 - cosine of two updates [P]; see `measure_activation`.

    Example:
        (1, 0) and (0, 2) -> 1;  (1, 1) and (-2, -2) -> 2;  (0, 0) and (0, 1) -> 1
    """
    if np.array_equal(ours, theirs):
        return 0.0
    lengths = float(np.linalg.norm(ours)) * float(np.linalg.norm(theirs))
    return 1.0 - float(ours @ theirs) / lengths if lengths else 1.0


@dataclass
class _Probe:
    """Learner that measures a run and learns nothing."""

    made: dict[str, Any]
    method: Method
    base: BaseSide
    steps: list[ActivationStep] = field(default_factory=list)
    trains: bool = False
    staged: bool = False

    def __post_init__(self) -> None:
        ours, theirs = self.method, self.base.method
        count = self.made["steps"]
        self._engine: Engine = self.made["engine"]
        self._measured = {0, count // 2, count - 1}
        self._pending: _Pending | None = None
        self._drawn = set[Any]()
        self._same_play = _same((ours.rollout, ours.sampling), (theirs.rollout, theirs.sampling))
        self._same_tasks = _same(ours.tasks, theirs.tasks)
        self._same_stages = _same((ours.shared, ours.stages), (theirs.shared, theirs.stages))
        self._start = None if self._same_stages else _weights_of(self._engine)

    def begin(self, engine: Engine) -> None:
        """Compare the weights after the stages with those before."""
        with kept_random_state():
            begin_all(self.base.method.learners, engine)
            if self._start is not None:
                moved = not np.array_equal(self._start, _weights_of(engine))
                self.staged = moved or bool(self.base.method.stages or self.base.method.shared)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> dict[str, float]:
        """Let the base rate the groups."""
        self.close()
        with kept_random_state():
            foreign = self._foreign(groups, step)
            theirs, reason = list[RatedGroup](), ""
            try:
                if self.base.method.epochs:
                    theirs = self.base.rate(groups, step, self.method.annotate)
            except HandaxeError as error:
                reason = str(error)
        if step in self._measured:
            self._pending = _Pending(step, groups, theirs, foreign, reason)
        return {}

    def trained(self, groups: Sequence[RatedGroup]) -> None:
        """Measure the step with the groups that the method trains."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        ours = list(groups) if self.method.epochs else []
        theirs = pending.theirs
        self.trains |= _trains(ours) or _trains(theirs)
        difference = batch_difference(
            ours,
            theirs,
            foreign=pending.foreign,
            stopped=self._stopped(pending.groups),
            rollouts=[one.id for group in pending.groups for one in group.group],
        )
        angle, reason = (nan, pending.reason) if pending.reason else self._angle(ours, theirs, pending.step)
        self.steps.append(ActivationStep(pending.step + 1, angle, difference, reason))

    def close(self) -> None:
        """Measure a step in which the method trained no group."""
        self.trained([])

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Do nothing: a measured run is not resumed."""

    def _foreign(self, groups: Sequence[RatedGroup], step: int) -> set[str]:
        """Ids of rollouts without a counterpart in the base at this step."""
        config, rollouts = self.base.method.async_config, [one for group in groups for one in group.group]
        everything = {one.id for one in rollouts}
        count = self.made["groups"] * config.rounds
        if self._same_tasks:
            late = [] if self.method.async_config.carries else groups[count:]
            found = {one.id for group in late for one in group.group}
        else:
            now = {_content(task) for task in self.base.tasks.next(step, count)}
            self._drawn = self._drawn | now if self.method.async_config.carries else now
            found = {one.id for group in groups if _content(group.group.task) not in self._drawn for one in group.group}
        bound = inf if config.race or config.segments else config.staleness
        for group in groups:
            ages = group.played.ages
            pairs = [] if ages is None else zip(group.played.group, ages, strict=True)
            found |= {one.id for one, age in pairs if age > bound} & everything
        if self.staged:
            return everything
        if not self._same_play and step in self._measured and groups:
            played = self.base.play([group.group.task for group in groups], step)
            found |= unplayable_rollouts(rollouts, played)
        return found

    def _stopped(self, groups: Sequence[RatedGroup]) -> int:
        """Sampled tokens of rollouts stopped by the method alone."""
        config = self.base.method.async_config
        if config.spare or config.stop_when is not None:
            return 0
        return sum(one.num_tokens for group in groups for one in group.played.group if one.ending == STOPPED)

    def _angle(self, ours: list[RatedGroup], theirs: list[RatedGroup], step: int) -> tuple[float, str]:
        sides = ((ours, self.made["loss"], self.made["updates"]), (theirs, self.base.loss, self.base.updates))
        changes = []
        with TemporaryDirectory() as folder, kept_random_state():
            start = Path(folder) / "start"
            self._engine.save(start)
            before = _vector(start)
            for k, (groups, loss, updates) in enumerate(sides):
                rewind, after = rewinder(loss), Path(folder) / str(k)
                try:
                    rate = rate_at(self.made["learning_rate"], step)
                    rng = generator(self.made["seed"], "minibatches", step)
                    update(self._engine, loss, groups, updates=updates, learning_rate=rate, rng=rng, step=step)
                    self._engine.save(after)
                    changes.append(_vector(after) - before)
                except HandaxeError as error:
                    return nan, str(error)
                finally:
                    rewind()
                    self._engine.load(start)
        return update_angle(*changes), ""


@dataclass(frozen=True)
class _Pending:
    """A step between the rating by the base and the transform of the method."""

    step: int
    groups: Sequence[RatedGroup]
    theirs: list[RatedGroup]
    foreign: set[str]
    reason: str


class _Watched:
    """Transform with a probe of the result, under the name of the transform."""

    def __init__(self, transform: Any, probe: _Probe):
        self._transform, self._probe = transform, probe
        self.__qualname__ = "keep_all" if transform is None else part_name(transform)

    def __call__(self, rated: Sequence[RatedGroup]) -> Sequence[RatedGroup]:
        found = list(rated) if self._transform is None else list(self._transform(rated))
        self._probe.trained(found)
        return found


def _beside(ours: Method, theirs: Method, *, trains: bool) -> tuple[str, ...]:
    """Parts of a method outside of the training loop that the base lacks. A learner counts if no token trains."""
    names = ("closing", "evaluate_rollout") if trains else ("closing", "evaluate_rollout", "learners")
    return tuple(
        name for name in names if getattr(ours, name) and not _same(getattr(ours, name), getattr(theirs, name))
    )


def _same(ours: Any, theirs: Any) -> bool:
    """True if two parts have equal code and arguments. A part without a fingerprint equals no other."""
    try:
        return list(fingerprint(ours)) == list(fingerprint(theirs))
    except InputError:
        return False


def _trains(groups: Sequence[RatedGroup]) -> bool:
    return any(mask_T.any() for one in groups for i in range(len(one.group)) for mask_T in one.training_mask(i))


def _content(task: Task) -> tuple[Any, ...]:
    return (task.id, *((one.role, one.content, *one.images) for one in task.messages))


def _weights_of(engine: Engine) -> np.ndarray:
    with TemporaryDirectory() as folder:
        engine.save(Path(folder) / "engine")
        return _vector(Path(folder) / "engine")


def _vector(folder: Path) -> np.ndarray:
    """[P] weights of the policy in a checkpoint, without critic and reference."""
    tensors, _ = read_state(folder)
    parts = [tensors[name].double().flatten().numpy() for name in sorted(tensors) if name.startswith("weights.")]
    return np.concatenate(parts)
