"""Best-of-n per turn: sample several next turns and keep the one with the highest judge score.

Kept: step-wise best-of-n for users with a step judge.
"""

from collections.abc import Generator
from functools import partial
from math import inf, isnan
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import Rollout, RolloutPlan, StepJudge
from handaxe.core.records import Ending, Group, Trajectory
from handaxe.core.requests import Attempt, Completion, Work
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.env_session import infra_error
from handaxe.rollouts.play.takeback import Takeback

__all__ = ["best_step"]


def best_step(
    *,
    judge: StepJudge,
    samples: int = 4,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Play one rollout greedily by a judge of steps.

        turn k = argmax_n judge(x_n), of next turns x_1, ..., x_samples, each with the environment's reply; ties go to
                 the first

    Every candidate is played and taken back with the environment's state; the chosen one is then played again, so no
    effect of the others remains. A candidate that was cut off, or began another speaker's turn, is chosen only if all
    are, and one without a score (NaN) only if all lack one. The judge sees the rollout up to the reply to the
    candidate, and is not recorded.

    Args:
        judge: scores every turn of a rollout; the last score counts. Its InfrastructureError ends the rollout as
            infra_error.
        samples: n, >= 1; 1 equals `linear`.
        max_turns: turns or `Rules`, as in `linear`; a budget counts all candidates.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory, whose `total_usage` counts all
        samples. Chosen turns are FORCED tokens, since a judge chose them. notes["chosen"] has the judge's scores of the
        candidates, by turn.

    Raises:
        InputError: samples below 1, or an environment without snapshots.

    Example:
        candidates scored 0.2, 0.9, 0.9, 0.1  ->  the second is kept

    Paper: arXiv:2510.14942 (GroundedPRM), reward-guided greedy search.
    Differs: nothing.
    """
    if samples < 1:
        raise InputError(f"best_step has samples={samples}; give 1 or more")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.run(_turns(play, judge, samples) if samples > 1 else None))]

    return rollout


def _turns(play: Play, judge: StepJudge, samples: int) -> Generator[Request, Any, Ending]:
    takeback = Takeback(play)
    while (ending := (yield from _turn(takeback, judge, samples))) is None:
        pass
    return ending


def _turn(takeback: Takeback, judge: StepJudge, samples: int) -> Generator[Request, Any, Ending | None]:
    play, k = takeback.play, len(takeback.play.turns)
    scores: list[float] = []
    tried: list[Completion] = []
    for n in range(samples):
        ending = yield from play.turn(seed=derive_seed(play.attempt.seed, "candidate", k, n))
        if len(play.turns) == k or (ending is not None and ending.kind == "infra_error"):
            return ending
        if play.turns[k].finish == "stop":
            try:
                scores.append(float((yield Work(partial(_last, judge, play.partial_trajectory())))))
            except InfrastructureError as error:  # of a remote judge
                return infra_error(error)
            tried.append(_said(play))
        if n + 1 == samples and not tried:
            return ending
        gone = yield from takeback.rewind(k)
        if gone is not None:
            return gone
    known = [-inf if isnan(score) else score for score in scores]
    best = known.index(max(known))
    play.notes["chosen"] = {**play.notes.get("chosen", {}), str(k): scores}
    return (yield from takeback.splice_turn(tried[best], own=0))


def _said(play: Play) -> Completion:
    turn = play.turns[-1]
    said = play.sequences[turn.sequence].span(turn.start, turn.stop)
    return Completion(said.ids, said.logp, said.behaviour_logp, said.version, "stop")


def _last(judge: StepJudge, one: Trajectory) -> float:
    return judge.score_steps(Group(one.task, (one,)))[0][-1]
