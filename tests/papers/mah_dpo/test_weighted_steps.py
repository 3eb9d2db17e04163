import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.mah_dpo.weighted_steps import weighted_steps
from handaxe.testing.judges import check_judge
from handaxe.testing.make_records import make_group, make_trajectory

GROUP = make_group(
    trajectories=[make_trajectory(layouts=[one], sample=i) for i, one in enumerate(("Utpp Tpppp", "Utppp"))]
)


class Tokens:
    """Judge of turns: factor times tokens, plus an offset."""

    def __init__(self, factor, offset):
        self.factor = factor
        self.offset = offset
        self.asked = 0

    def score_steps(self, group):
        self.asked += 1
        return tuple(
            np.array([self.factor * (turn.stop - turn.start) + self.offset for turn in one.turns]) for one in group
        )


CONTRACT = [{"members": {"tokens": Tokens(0.2, 0.0)}, "weights": {"tokens": 0.5}}]
LAB = "combines other judges of steps; see reward_model"


def members():
    return {"correct": Tokens(-0.25, 1.5), "brief": Tokens(0.2, 0.0)}


def test_sum_by_hand():
    """Turns of 2 and 4 tokens: rewards 1, 0.5 and 0.4, 0.8; weights 0.5 each."""
    judge = weighted_steps(members(), {"correct": 0.5, "brief": 0.5})
    assert judge.score_steps(GROUP)[0] == pytest.approx([0.7, 0.65])
    assert judge.score(GROUP)[0] == pytest.approx(0.675)


@pytest.mark.parametrize("weights", [{"correct": 0.3, "brief": 1.2}, {"brief": -2.0}, {"correct": 1.0, "brief": 0.0}])
def test_sum_equals_a_loop_over_turns_and_objectives(weights):
    judges = members()
    found = weighted_steps(judges, weights).score_steps(GROUP)
    for one, own_N in zip(GROUP, found, strict=True):
        for k, turn in enumerate(one.turns):
            total = 0.0
            for name, weight in weights.items():
                total += weight * (judges[name].factor * (turn.stop - turn.start) + judges[name].offset)
            assert own_N[k] == pytest.approx(total)


def test_objective_of_weight_zero_is_not_asked():
    judges = members()
    found = weighted_steps(judges, {"correct": 1.0, "brief": 0.0}).score_steps(GROUP)
    assert judges["brief"].asked == 0 and judges["correct"].asked == 1
    assert all(np.array_equal(a, b) for a, b in zip(found, judges["correct"].score_steps(GROUP), strict=True))


def test_no_weight_scores_zero():
    assert [own.tolist() for own in weighted_steps(members(), {}).score_steps(GROUP)] == [[0.0, 0.0], [0.0]]


def test_contract_of_judges():
    check_judge(weighted_steps(members(), {"correct": 0.5, "brief": 0.5}), GROUP)


def test_bad_weights_are_refused():
    with pytest.raises(InputError, match="weights name kind, but the judges are of correct, brief"):
        weighted_steps(members(), {"kind": 1.0})
    with pytest.raises(InputError, match="finite numbers"):
        weighted_steps(members(), {"brief": float("nan")})
