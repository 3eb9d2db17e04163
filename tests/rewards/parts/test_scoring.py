import numpy as np
import pytest

from handaxe import rewards
from handaxe.core.errors import InfrastructureError, InputError, TaskError, VerifierError
from handaxe.core.records import Scores
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.make_records import make_group, make_task, make_trajectory


def group_of(*endings):
    return make_group(trajectories=[make_trajectory(texts=["4"], ending=kind) for kind in endings])


def fails_on(sample):
    return rewards.outcome(lambda t: None if t.sample == sample else 1.0)


def kinds(group):
    return [one.ending.kind for one in group]


def test_scoring_matches_the_docstring_example():
    group, scores = score_group(fails_on(2), group_of("completed", "infra_error", "completed"))
    assert kinds(group) == ["completed", "infra_error", "verifier_error"]
    assert np.array_equal(scores.outcome, [1, np.nan, np.nan], equal_nan=True)
    assert scores.eligible.tolist() == [True, False, False]
    assert "return a finite number" in group[2].ending.reason


def test_the_reward_never_sees_unscorable_siblings():
    seen = []

    def reward(group):
        seen.extend(kinds(group))
        return Scores(np.zeros(len(group)))

    score_group(reward, group_of("completed", "infra_error", "verifier_error", "policy_error", "truncated"))
    assert seen == ["completed", "policy_error", "truncated"]


def test_group_statistics_use_scored_siblings():
    task = make_task(answer="4")
    many = ["f", "f"]
    group = make_group(
        trajectories=[
            make_trajectory(texts=["", "4"], calls=[many, []], replies=[many, []], task=task),
            make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[["1"], []], task=task, ending="infra_error"),
        ]
    )
    reward = fewer_calls(base=exact_match(), smooth=4)
    _, scores = score_group(reward, group)
    assert scores.outcome[0] == 1 and np.isnan(scores.outcome[1])
    assert reward.least == {"task-0": 2}
    assert scores.channels["efficiency"][0] == 1 and np.isnan(scores.channels["efficiency"][1])


def test_a_failure_without_a_name_ends_all_siblings():
    def reward(group):
        raise InfrastructureError("the judge is gone")

    group, scores = score_group(reward, group_of("completed", "infra_error", "completed"))
    assert kinds(group) == ["verifier_error", "infra_error", "verifier_error"]
    assert np.all(np.isnan(scores.outcome))
    assert group[0].ending.reason == "InfrastructureError: the judge is gone"


def test_state_is_restored_after_a_failed_call():
    class Counts:
        count = 0

        def __call__(self, group):
            self.count += 1
            if len(group) > 1:
                raise VerifierError("no", trajectory=group[0].id)
            return Scores(np.array([float(self.count)]))

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state):
            self.count = state["count"]

    group, scores = score_group(Counts(), group_of("completed", "completed", "completed"))
    assert kinds(group) == ["verifier_error", "verifier_error", "completed"]
    assert scores.outcome[2] == 1.0


def test_per_turn_values_are_nan_for_unscored_siblings():
    reward = rewards.per_turn(lambda t: [1.0] * len(t.turns))
    _, scores = score_group(reward, group_of("infra_error", "completed"))
    assert np.array_equal(scores.turns[0], [np.nan], equal_nan=True)
    assert scores.turns[1].tolist() == [1]


def test_task_errors_and_bugs_are_raised():
    with pytest.raises(TaskError):
        score_group(exact_match(), group_of("completed"))

    def broken(group):
        return group.no_such_field

    with pytest.raises(AttributeError):
        score_group(broken, group_of("completed"))


def test_a_reward_of_the_user_that_gives_numbers_is_named():
    def shop_score(group):
        return [1.0] * len(group)

    with pytest.raises(InputError, match=r"^reward 'shop_score' gave \[1.0, 1.0\] for a group, and not Scores"):
        score_group(shop_score, group_of("completed", "completed"))
