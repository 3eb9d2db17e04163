"""Settings of `train`: updates, evaluation, asynchrony, and the run itself."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handaxe.core.endings import Treatment, treatments
from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy, Engine, HiddenMeasure
from handaxe.core.records import EndingKind, RatedGroup
from handaxe.core.requests import Work
from handaxe.rollouts.driver.executor import Executor
from handaxe.rollouts.stopping.rule import StopRule
from handaxe.training.loop.loggers import Logger
from handaxe.training.loop.stopping import RunStop

__all__ = ["AsyncConfig", "EarlyStop", "Evaluate", "PeriodicEvaluation", "RunConfig", "Updates"]

EarlyStop = Callable[[Mapping[str, float]], bool]
"""Metrics of an optimiser step -> True skips the remaining optimiser steps of the training step."""
Evaluate = Callable[[Engine, int], dict[str, Any]]
"""(engine, steps done) -> results of an evaluation."""


@dataclass(frozen=True, kw_only=True)
class Updates:
    """Optimiser steps of a training step.

    Args:
        epochs: passes over the selected groups, >= 0; 0 trains nothing.
        minibatches: optimiser steps per pass, >= 1, each on a random part of the rollouts with its own denominators.
            Groups of a lower `part` train first.
        micro_batch_rows: sequences per forward and backward, >= 1. Changes memory and time, not the result.
        early_stop: called after each optimiser step with its metrics; True skips the other optimiser steps of the
            training step. See training.loop.early_stop.
        critic_warmup: first training steps in which only the critic learns, >= 0. The loss needs a value term, and
            the engine a critic.
        critic_rate: learning rate of the critic, > 0; None for the learning rate of the policy.
        annotate: features that the engine measures on every scored sequence before credit: old_logp, ref_logp, value,
            entropy, collision, and `HiddenMeasure`s under their names. Trajectories that a selector adds are measured,
            too, but keep their old_logp.

    Raises:
        InputError: a number is out of range, or `annotate` is no list.
    """

    epochs: int = 1
    minibatches: int = 1
    micro_batch_rows: int = 64
    early_stop: EarlyStop | None = None
    critic_warmup: int = 0
    critic_rate: float | None = None
    annotate: Sequence[str | HiddenMeasure] = ()

    def __post_init__(self) -> None:
        epochs, parts, rows, warmup = (
            _whole(name, getattr(self, name)) for name in ("epochs", "minibatches", "micro_batch_rows", "critic_warmup")
        )
        if epochs < 0 or parts < 1 or rows < 1:
            raise InputError(
                f"epochs is {epochs}, minibatches {parts} and micro_batch_rows {rows}; give 0 or more epochs, where 0 "
                "trains nothing, and 1 or more of the others"
            )
        if warmup < 0 or not (self.critic_rate is None or self.critic_rate > 0):
            raise InputError(
                f"critic_warmup is {warmup} and critic_rate {self.critic_rate}; give 0 or more steps, and a learning "
                "rate above 0 or None"
            )
        if isinstance(self.annotate, str) or not isinstance(self.annotate, Sequence):
            raise InputError(f"annotate is {self.annotate!r}: write a list, such as annotate=['old_logp']")


@dataclass(frozen=True, kw_only=True)
class PeriodicEvaluation:
    """Evaluation before the first step, every `every` steps, and after the last; `every` 0 never evaluates.

    Args:
        evaluate: called with the engine and the number of steps done.
        every: steps between evaluations, >= 0.

    Raises:
        InputError: `every` is negative, or `evaluate` is no function.
    """

    evaluate: Evaluate
    every: int = 0

    def __post_init__(self) -> None:
        if _whole("every", self.every) < 0:
            raise InputError(f"every is {self.every}; give the steps between evaluations, or 0 for none")
        if not callable(self.evaluate):
            raise InputError(f"evaluate is {self.evaluate!r}; give a function (engine, steps done)")


@dataclass(frozen=True, kw_only=True)
class AsyncConfig:
    """Generation of rollouts beside the updates. See docs/asynchronous.md.

    Args:
        rounds: maximum generation rounds of a step, >= 1. With 2 or more, generation continues until `groups` of all
            groups of the step are selected; further selected groups are surplus (DAPO).
        spare: rollouts per group beyond group_size, >= 0. The first group_size that end are kept, the others stopped.
        stop_when: rule that stops the rest of a group; see rollouts.stopping. Stopped rollouts are never scored.
        segment_tokens, segment_calls: maximum progress of a rollout in one step, >= 1, each or both. A longer rollout
            is suspended and continues first in the next step, under the new weights; a group trains after its last
            rollout. `groups` are in play at a time, so a step trains at most that number.
        staleness: maximum age in steps of a trained token, >= 0. Groups are launched that number of steps ahead, and
            their tools work during the update. 0 launches a step's groups in that step.
        race: train the first `groups` groups that end, of any launch step. `staleness`, 1 or more,
            then bounds only how far ahead groups are launched; ages have no bound. Groups are launched past the last
            step as well, so that its race is like any other; groups under way at the end never train. Short rollouts
            train earlier: see papers.rl_mle.duration_weight.
        lockstep: sample all waiting rollouts in one batch, then let all act: equal bits for any timing of the tools,
            unless a rollout has a `Budget(seconds=)`. False lets no rollout wait for another one's tool; log-probs then
            agree within rounding.
        reward_beside: call the reward in a thread of the workers, for one group at a time, while other groups are
            played: for a slow judge. Many rewards need the main thread.
        workers: threads for environments, >= 1, or an executor of their requests.
        overlap: called with the groups that will train; returns work for which the update waits, such as training on
            another machine. Later groups are played meanwhile under the old weights.

    Raises:
        InputError: a number is out of range, or settings exclude each other.
    """

    rounds: int = 1
    spare: int = 0
    stop_when: StopRule | None = None
    segment_tokens: int | None = None
    segment_calls: int | None = None
    staleness: int = 0
    race: bool = False
    lockstep: bool = False
    reward_beside: bool = False
    workers: int | Executor = 8
    overlap: Callable[[Sequence[RatedGroup]], Work] | None = None

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise InputError(f"rounds is {self.rounds}; give 1 or more")
        if self.spare < 0 or self.staleness < 0:
            raise InputError(f"spare is {self.spare} and staleness {self.staleness}; give 0 or more of each")
        if any(limit is not None and limit < 1 for limit in (self.segment_tokens, self.segment_calls)):
            raise InputError(
                f"segment_tokens is {self.segment_tokens} and segment_calls {self.segment_calls}; an empty segment "
                "never ends a rollout: give 1 or more, or None for no limit"
            )
        if self.rounds > 1 and (self.staleness or self.segments):
            raise InputError(
                "rounds > 1 fills a step with groups drawn after others were seen, which cannot be launched ahead of "
                "it: use rounds=1 with staleness or segments, and more groups a step instead"
            )
        if self.staleness and self.segments:
            raise InputError(
                "segments carry rollouts over from step to step, with no bound on their age: give staleness=0 with "
                "segment_tokens or segment_calls, or staleness without them"
            )
        if self.race and not self.staleness:
            raise InputError(
                "race trains the first of more groups than a step trains, and staleness=0 launches no more than these: "
                "give staleness=1 or more, without rounds and segments"
            )
        if not (hasattr(self.workers, "submit") or (isinstance(self.workers, int) and self.workers >= 1)):
            raise InputError(f"workers is {self.workers!r}; give a number of threads from 1, or an executor")

    @property
    def segments(self) -> bool:
        """True if rollouts are played in segments."""
        return self.segment_tokens is not None or self.segment_calls is not None

    @property
    def carries(self) -> bool:
        """True if groups are in flight between two steps, so that a checkpoint must hold them."""
        return self.staleness > 0 or self.segments


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Record, checkpoints, evaluation and failure handling of a run.

    Args:
        out: folder of the run; None stores nothing.
        resume: continue after the last checkpoint in `out`, from the start if there is none. In lockstep, with
            staleness 0 and no segments, bit for bit; otherwise groups that were under way are launched again.
        checkpoint_every: steps between checkpoints, >= 1. The last step and Ctrl-C always write one.
        checkpoints: number of checkpoints to keep, >= 1.
        evaluation: see `PeriodicEvaluation`; None never evaluates.
        stop: ends the run before the last step; see training.loop.stopping. None never does.
        loggers: called with the step and its metrics after each step; closed at the end.
        progress: show a bar on stderr.
        on_ending: treatment of rollouts by their ending; see core.endings.
        retries: maximum retries of a rollout whose ending has the treatment "retry"; >= 0.
        aux_policies: auxiliary policies for rollouts and environments, by name, such as a simulated user. Their turns
            are recorded and counted, never scored or trained.
        recipe: JSON facts about the origin of the run's arguments, stored in recipe.json.

    Raises:
        InputError: `resume` without `out`, a number out of range, an unknown ending or treatment, or a `stop` that
            waits for evaluations without any.
    """

    out: Path | None = None
    resume: bool = False
    checkpoint_every: int = 10
    checkpoints: int = 2
    evaluation: PeriodicEvaluation | None = None
    stop: RunStop | None = None
    loggers: Sequence[Logger] = ()
    progress: bool = True
    on_ending: Mapping[EndingKind, Treatment] = field(default_factory=dict)
    retries: int = 1
    aux_policies: Mapping[str, AuxPolicy] = field(default_factory=dict)
    recipe: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.resume and self.out is None:
            raise InputError("resume=True needs out=, the folder of the run to resume")
        if self.checkpoint_every < 1 or self.checkpoints < 1:
            raise InputError(
                f"checkpoint_every is {self.checkpoint_every} and checkpoints {self.checkpoints}; give 1 or more"
            )
        if _whole("retries", self.retries) < 0:
            raise InputError(f"retries is {self.retries}; give 0 or more")
        if self.evaluation is not None and not isinstance(self.evaluation, PeriodicEvaluation):
            raise InputError(
                f"evaluation is {self.evaluation!r}: write evaluation=PeriodicEvaluation(evaluate=..., every=5)"
            )
        if self.stop is not None and self.stop.evaluated and (self.evaluation is None or not self.evaluation.every):
            raise InputError("stop waits for evaluations, and there are none: give evaluation=PeriodicEvaluation(...)")
        treatments(self.on_ending)


def _whole(name: str, value: Any) -> int:
    """Return a whole number; raises InputError with its name for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(f"{name} is {value!r}; give a whole number") from None
