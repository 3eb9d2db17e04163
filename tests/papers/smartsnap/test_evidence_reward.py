import itertools

import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import ToolCall, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.smartsnap.evidence_reward import Votes, evidence_reward, submission_reward, verdict
from handaxe.papers.smartsnap.evidence_view import answer_judge, chain_judge
from handaxe.papers.smartsnap.submitted_hops import submitted_hops
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = [LabCase("evidence_reward(rules)", submitted_hops, lambda world: rules())]
TASK = make_task(question="4071 boss?", answer="5526", metadata={"gold_documents": ["4071 boss"]})


def rules(**options):
    options = {"schedule": lambda step: 0.5, **options}
    return evidence_reward(valid=chain_judge(), success=answer_judge(), **options)


def rollout(evidences=(0,), message="5526", searches=2, submissions=1, name="trajectory-0"):
    last = ToolCall("submit", {"message": message, "evidences": list(evidences)})
    texts = ["[4071 boss] 4071 boss 5526", *["[8013 boss] 8013 boss 4071"] * (searches - 1)]
    return make_trajectory(
        texts=[""] * (searches + submissions),
        calls=[*[["search"]] * searches, *[[last]] * submissions],
        replies=[
            *[[ToolReply(f"{n}-0", "search", text)] for n, text in enumerate(texts)],
            *[[ToolReply(f"{searches + n}-0", "submit", "submitted")] for n in range(submissions)],
        ],
        task=TASK,
        id=name,
    )


CONTRACT = [
    {"valid": chain_judge(), "success": answer_judge(), "schedule": lambda step: 0.5},
    {"valid": chain_judge(slip=0.2), "success": answer_judge(slip=0.2), "schedule": lambda step: 0.0, "votes": 1},
]
SIBLINGS = make_group(
    trajectories=[
        rollout(name="one-0"),
        rollout(evidences=(1,), message="1390", name="one-1"),
        rollout(evidences=(0, 1, 0, 1), name="one-2"),
        rollout(submissions=2, name="one-3"),
    ]
)


class Chance:
    """Step judge with one score, or with an error in some calls."""

    def __init__(self, value, fails=()):
        self.value = value
        self.fails = fails
        self.calls = 0

    def score_steps(self, group):
        self.calls += 1
        if self.calls in self.fails:
            raise VerifierError("away", trajectory=group[0].id)
        return (np.array([self.value]),)


@pytest.mark.parametrize(
    "success, valid, expected", [(2, 2, 1.3), (1, 2, 0.3), (0, 0, -0.7), (3, 3, 1.3), (1, 1, -0.7)]
)
def test_the_worked_example(success, valid, expected):
    votes = Votes(success, valid, 3)
    assert submission_reward(votes, calls=12, evidences=5, schedule=0.5) == pytest.approx(expected, abs=1e-12)


def test_reward_equals_a_slow_loop_over_votes_and_counts():
    for count, calls, evidences in itertools.product((1, 2, 3), (0, 4, 12), (1, 3, 6)):
        for success, valid in itertools.product(range(count + 1), repeat=2):
            value = -1.0
            if success > count - success:
                value = 1.0
            elif valid > count - valid:
                value = 0.0
            bonus = (1.0 if calls else 0.0) if value == 1 else sum([0.1] * min(calls, 10))
            surplus = sum(0.1 for n in range(evidences) if n >= 3)
            votes = Votes(success, valid, count)
            assert verdict(votes) == value
            found = submission_reward(votes, calls=calls, evidences=evidences, schedule=0.25)
            assert found == pytest.approx(value + 0.25 * bonus - surplus, abs=1e-9)


def test_rollouts_earn_by_submission_evidence_and_message():
    group = make_group(
        trajectories=[
            rollout(name="a"),
            rollout(message="1390", name="b"),
            rollout(evidences=(1,), name="c"),
            rollout(evidences=(0, 1, 0, 1, 0), name="d"),
            rollout(submissions=2, name="e"),
            rollout(evidences=(), name="f"),
        ]
    )
    scores = rules()(group)
    assert scores.outcome == pytest.approx([1.5, 0.1, -0.9, 1.3, -1, -1])
    assert scores.channels["passed"].tolist() == [1, 1, 1, 1, 0, 0]
    assert scores.channels["verdict"].tolist() == [1, 0, -1, 1, -1, -1]
    assert scores.channels["evidences"].tolist() == [1, 1, 1, 5, 0, 0]
    assert scores.channels["read"].tolist() == [3 * (10 + 4 + 26 * n) for n in (1, 1, 1, 5)] + [0, 0]
    assert not scores.channels["split"].any() and scores.channels["agrees"].all()


def test_a_judge_of_the_whole_rollout_reads_more_and_needs_no_evidence():
    group = make_group(trajectories=[rollout(evidences=(1,))])
    own, everything = rules()(group), rules(sees="all")(group)
    assert everything.channels["read"][0] > own.channels["read"][0]
    assert own.channels["verdict"].tolist() == [-1] and everything.channels["verdict"].tolist() == [1]


@pytest.mark.slow
def test_votes_are_drawn_at_the_temperature():
    """p = 0.8 at 0.7: 0.8787; a vote for success is 0.8787^2 = 0.7721, the majority of three 0.8655."""
    group = make_group(trajectories=[rollout(name=f"one-{n}") for n in range(1200)])
    chance = 0.8 ** (1 / 0.7) / (0.8 ** (1 / 0.7) + 0.2 ** (1 / 0.7))
    vote = chance**2
    for votes, expected in ((1, vote), (3, vote**3 + 3 * vote**2 * (1 - vote))):
        reward = evidence_reward(valid=Chance(0.8), success=Chance(0.8), schedule=lambda step: 0.0, votes=votes)
        scores = reward(group)
        assert (scores.channels["verdict"] == 1).mean() == pytest.approx(expected, abs=0.045), "3.6 standard errors"
        assert scores.channels["agrees"].tolist() == (scores.channels["verdict"] == 1).tolist()
        assert scores.channels["split"].any() == (votes > 1)
        assert reward(group).outcome.tolist() == scores.outcome.tolist(), "equal rollouts, equal votes"
    assert chance == pytest.approx(0.8787, abs=1e-4) and vote == pytest.approx(0.7721, abs=1e-4)


def test_votes_without_an_answer_do_not_count_and_all_failed_votes_are_no_score():
    group = make_group(trajectories=[rollout()])
    valid, success = Chance(1.0, fails=(1,)), Chance(1.0)
    reward = evidence_reward(valid=valid, success=success, schedule=lambda step: 0.0)
    assert reward(group).channels["verdict"].tolist() == [1] and (valid.calls, success.calls) == (3, 2)
    away = evidence_reward(valid=Chance(1.0, fails=(1, 2, 3)), success=success, schedule=lambda step: 0.0)
    with pytest.raises(VerifierError, match="no vote has an answer") as error:
        away(group)
    assert error.value.trajectory == group[0].id


@pytest.mark.parametrize("options", [{"votes": 0}, {"temperature": 0.0}, {"penalty": -0.1}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(InputError, match="give votes from 1"):
        rules(**options)
