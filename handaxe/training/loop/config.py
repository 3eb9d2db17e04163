"""How a run goes on in time, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.rollouts.stopping.rule import StopRule
from handaxe.training.loop.loggers import Logger

__all__ = ["AsyncConfig", "RunConfig"]


@dataclass(frozen=True, kw_only=True)
class AsyncConfig:
    """How attempts are generated beside the updates. See docs/asynchronous.md.

    Args:
        rounds: most generation rounds a step, >= 1. With 2 or more, generation goes on until `groups` of all groups of
            the step are selected, and those beyond are left out (DAPO).
        spare: attempts a group beyond group_size, >= 0. The first group_size that end are kept, the others stopped.
        stop_when: whether the rest of a group is stopped; see rollouts.stopping. What is stopped is never scored.
        segment_tokens, segment_calls: how much an attempt may add in one step, >= 1, each or both. An attempt that
            needs more is held and goes on first in the next step, under the new weights; a group trains once all of it
            has ended. `groups` are in play at a time, so a step trains that many at most.
        staleness: most steps that a trained token may be old, >= 0. Groups are launched so many steps ahead, and their
            tools work during the update. 0 launches a step's groups in that step.
        first_come: train the first `groups` groups that end, of those launched for whatever step, in place of those
            launched for this one. `staleness` then says only how far ahead groups are launched, 1 or more, and an age
            has no bound. Groups are launched past the last step as well, so that its race is like any other; what is
            under way at the end never trains. What is quick trains earlier: see papers.rl_mle.duration_weight.
        lockstep: sample all attempts that speak in one batch, then let all act: the same bits whatever the tools'
            timing, unless a rollout has a `Budget(seconds=)`. False lets no attempt wait for another one's tool;
            log-probs then agree within rounding.
        reward_beside: call the reward in one of the workers' threads, for one group at a time, while the others are
            played on: for a judge that is waited for. Many rewards need the main thread.

    Raises:
        InputError: numbers that cannot be, or that exclude each other.
    """

    rounds: int = 1
    spare: int = 0
    stop_when: StopRule | None = None
    segment_tokens: int | None = None
    segment_calls: int | None = None
    staleness: int = 0
    first_come: bool = False
    lockstep: bool = False
    reward_beside: bool = False

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise InputError(f"rounds is {self.rounds}; give 1 or more")
        if self.spare < 0 or self.staleness < 0:
            raise InputError(f"spare is {self.spare} and staleness {self.staleness}; give 0 or more of each")
        if any(limit is not None and limit < 1 for limit in (self.segment_tokens, self.segment_calls)):
            raise InputError(
                f"segment_tokens is {self.segment_tokens} and segment_calls {self.segment_calls}; a segment of nothing "
                "never ends an attempt: give 1 or more, or None for no limit"
            )
        if self.rounds > 1 and (self.staleness or self.segments):
            raise InputError(
                "rounds > 1 fills a step up with groups drawn after others were seen, which cannot be launched ahead "
                "of it: use rounds=1 with staleness or segments, and more groups a step instead"
            )
        if self.staleness and self.segments:
            raise InputError(
                "segments already carry attempts over from step to step, with no bound on their age: give staleness=0 "
                "with segment_tokens or segment_calls, or staleness without them"
            )
        if self.first_come and not self.staleness:
            raise InputError(
                "first_come picks the first of more groups than a step trains, and staleness=0 launches no more than "
                "these: give staleness=1 or more, without rounds and segments"
            )

    @property
    def segments(self) -> bool:
        """Whether attempts are played in segments."""
        return self.segment_tokens is not None or self.segment_calls is not None

    @property
    def carries(self) -> bool:
        """Whether groups are under way between two steps, so that a checkpoint must hold them."""
        return self.staleness > 0 or self.segments


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """What is kept of a run, and what is shown of it.

    Args:
        out: the run's folder, for record and checkpoints; None keeps nothing.
        resume: go on after the last checkpoint in `out`; starts anew when there is none. In lockstep, with staleness 0
            and no segments, bit for bit; else groups that were under way are launched again, from their beginning.
        checkpoint_every, checkpoints: steps between checkpoints, and how many of them stay; >= 1. The last step and
            Ctrl-C always write one.
        loggers: called with the step and its metrics, after each; closed at the end.
        progress: whether a bar is shown on stderr.
        recipe: JSON facts on where the arguments of the run came from, kept in recipe.json.

    Raises:
        InputError: `resume` without `out`; fewer than 1 checkpoint, or fewer than 1 step between two.
    """

    out: Path | None = None
    resume: bool = False
    checkpoint_every: int = 10
    checkpoints: int = 2
    loggers: Sequence[Logger] = ()
    progress: bool = True
    recipe: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.resume and self.out is None:
            raise InputError("resume=True needs out=, the folder of the run to go on with")
        if self.checkpoint_every < 1 or self.checkpoints < 1:
            raise InputError(
                f"checkpoint_every is {self.checkpoint_every} and checkpoints {self.checkpoints}; give 1 or more"
            )
