"""Rewards a submission by votes of a judge of its evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InfrastructureError, InputError, VerifierError
from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.seeds import generator
from handaxe.papers.smartsnap.evidence_view import Sees, evidence_view, view_size
from handaxe.papers.smartsnap.submission import Submission, read_submission
from handaxe.rewards.parts.checks import validate_scores

__all__ = ["Votes", "evidence_reward", "submission_reward", "verdict"]

ALLOWED = 3
"""Evidences without a penalty; the paper's."""
COMMON, PER_CALL = 1.0, 0.1
"""Largest tool bonus, and bonus of a call without success; the paper's."""


class Votes(NamedTuple):
    """Votes on one submission: number of votes for success, number for valid evidence, and number of votes."""

    success: int
    valid: int
    total: int


def verdict(votes: Votes) -> float:
    """Majority of the votes: 1 for success, 0 for valid evidence without success, -1 otherwise.

    Example:
        2 of 3 for success -> 1;  1 of 3 for success and 2 of 3 valid -> 0;  1 of 3 valid -> -1

    Paper: arXiv:2512.22322 (SmartSnap), the majority of the votes, as in the released code.
    Differs: nothing.
    """
    if 2 * votes.success > votes.total:
        return 1.0
    return 0.0 if 2 * votes.valid > votes.total else -1.0


def submission_reward(
    votes: Votes, *, calls: int, evidences: int, schedule: float, penalty: float = 0.1, allowed: int = ALLOWED
) -> float:
    """Reward of a submission that passed the gate.

        R = V + T schedule - E        V = verdict(votes)        E = penalty max(evidences - allowed, 0)
        T = 1[calls > 0] if V > 0, else min(0.1 calls, 1)

    Args:
        votes: of the judge.
        calls: observations of the rollout.
        evidences: submitted observations, with repetitions.
        schedule: weight of the tool bonus in the step, 0 to 1.
        penalty: of an evidence beyond `allowed`.

    Example:
        schedule 0.5, 12 calls, 5 evidences: 2 of 3 for success -> 1 + 0.5 - 0.2 = 1.3; 1 of 3 for success and 2 of 3
        valid -> 0 + 0.5 - 0.2 = 0.3; invalid -> -1 + 0.5 - 0.2 = -0.7

    Paper: arXiv:2512.22322 (SmartSnap), the reward, as in the released code.
    Differs: nothing.
    """
    value = verdict(votes)
    bonus = float(calls > 0) if value > 0 else min(PER_CALL * calls, COMMON)
    return value + bonus * schedule - penalty * max(evidences - allowed, 0)


def evidence_reward(
    *,
    valid: StepJudge,
    success: StepJudge,
    schedule: Callable[[int], float],
    votes: int = 3,
    temperature: float = 0.7,
    penalty: float = 0.1,
    sees: Sees = "evidence",
) -> Reward:
    """Reward rollouts by `submission_reward`, and by -1 without a valid submission (`read_submission`).

        vote k: valid ~ P_T(valid), success ~ P_T(success), and success only if valid
        P_T = p^(1/T) / (p^(1/T) + (1 - p)^(1/T))        p: score of the step judge for the view

    Args:
        valid, success: step judges with scores in [0, 1], of a view of the submission (`evidence_view`).
        schedule: training step -> weight of the tool bonus.
        votes: 1 or more; 3 in the paper. A vote without an answer of the judge does not count.
        temperature: T > 0; 0.7 in the paper.
        penalty: of each evidence beyond three, 0 or more; 0.1 in the paper.
        sees: what the judge sees.

    Returns:
        A reward with outcome [G] and the channels passed (the gate), verdict, evidences (number), read (characters that
        the judge read in all votes), split (votes on one question differ) and agrees (the verdict equals that of votes
        for the likelier answers). A rollout without a submission has 0 in all, except verdict -1 and agrees 1.

    Raises:
        InputError: a number out of range.
        VerifierError: no vote of a submission has an answer: the rollout is not scored.

    Example:
        p(valid) = p(success) = 0.8, T 0.7: 0.8787 each; a vote is for success with 0.7721

    Paper: arXiv:2512.22322 (SmartSnap), the judge's three parallel votes.
    Differs: a vote is drawn from the probabilities of yes and no to two questions; the paper's judge writes a text. All
        failed votes leave a rollout without a score; in the released code they are no success.
    """
    if votes < 1 or not temperature > 0 or penalty < 0:
        raise InputError(
            f"give votes from 1, a temperature above 0 and a penalty from 0, not {votes}, {temperature} and {penalty}"
        )

    def rated(one: Trajectory, step: int) -> _Rated:
        submission = read_submission(one)
        if submission is None:
            return _Rated(outcome=-1.0)
        view = evidence_view(one, submission, sees=sees)
        chances = _chances(view, (valid, success), votes)
        drawn = _draw(one, chances, temperature)
        return _rated(submission, drawn, _sure(chances), schedule(step), penalty, votes * view_size(view))

    def reward(group: Group) -> Scores:
        found = [rated(one, group.step) for one in group]
        channels = {name: np.array([float(getattr(one, name)) for one in found]) for name in _Rated._fields[1:]}
        return validate_scores(
            Scores(np.array([one.outcome for one in found], np.float64), channels=channels), group, "evidence_reward"
        )

    return reward


class _Rated(NamedTuple):
    """Outcome of a rollout and its channels."""

    outcome: float
    passed: float = 0.0
    verdict: float = -1.0
    evidences: float = 0.0
    read: float = 0.0
    split: float = 0.0
    agrees: float = 1.0


def _rated(submission: Submission, drawn: Votes, sure: Votes, schedule: float, penalty: float, size: int) -> _Rated:
    count = len(submission.chosen)
    calls = submission.observations
    outcome = submission_reward(drawn, calls=calls, evidences=count, schedule=schedule, penalty=penalty)
    split = float(0 < drawn.success < drawn.total or 0 < drawn.valid < drawn.total)
    agrees = float(verdict(drawn) == verdict(sure))
    return _Rated(outcome, 1.0, verdict(drawn), float(count), float(size), split, agrees)


def _chances(view: Trajectory, judges: tuple[StepJudge, StepJudge], votes: int) -> np.ndarray:
    """[K, 2] probabilities of valid evidence and of success, a row for each vote with answers, K >= 1."""
    found: list[list[float]] = []
    for _ in range(votes):
        try:
            found.append([float(judge.score_steps(Group(view.task, (view,)))[0][0]) for judge in judges])
        except (VerifierError, InfrastructureError) as error:
            failure = error
    if not found:
        raise VerifierError(f"no vote has an answer: {failure}", trajectory=view.id.rpartition("/")[0])
    return np.array(found)


def _sure(chance_K2: np.ndarray) -> Votes:
    """Equal votes by the side of 1/2 on which the mean probabilities lie."""
    count = len(chance_K2)
    valid, success = chance_K2.mean(0) > 0.5
    return Votes(count * int(valid and success), count * int(valid), count)


def _draw(one: Trajectory, chance_K2: np.ndarray, temperature: float) -> Votes:
    """Votes at a temperature, by random numbers of the rollout."""
    with np.errstate(divide="ignore", over="ignore"):
        logit_K2 = (np.log(chance_K2) - np.log1p(-chance_K2)) / temperature
        cooled_K2 = 1 / (1 + np.exp(-logit_K2))
    drawn_K2 = generator("evidence votes", one.id, one.seed).random(chance_K2.shape) < cooled_K2
    valid_K = drawn_K2[:, 0]
    return Votes(int((valid_K & drawn_K2[:, 1]).sum()), int(valid_K.sum()), len(valid_K))
