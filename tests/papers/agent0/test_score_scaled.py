import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.group_norm import group_norm
from handaxe.papers.agent0.score_scaled import score_scaled
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory

CONTRACT = [{"credit": group_norm(), "score": lambda task: 0.5}, {"credit": group_norm(), "score": lambda task: 0.8}]
BIAS = "a factor per task on the wrapped credit"


def said(p, rewards, **options):
    task = make_task(metadata={"score": p})
    group = make_group(task=task, trajectories=[make_trajectory(layouts=["Utpp", "Up"], task=task) for _ in rewards])
    return score_scaled(credit=group_norm(), **options)(group, make_scores(rewards)), group


@pytest.mark.parametrize(
    "p, scale, room", [(0.3, 0.6, 1.0), (0.5, 0.76, 0.6), (0.8, 1.0, 0.0), (0.1, 0.6, 1.0), (1.0, 1.0, 0.0)]
)
def test_score_scaled_matches_its_example(p, scale, room):
    found, group = said(p, [1.0, 1.0, 0.0, 0.0])
    plain = group_norm()(group, make_scores([1.0, 1.0, 0.0, 0.0]))
    for i, one in enumerate(group):
        for s, sequence in enumerate(one.sequences):
            for t in range(len(sequence)):
                assert found.tokens[i][s][t] == pytest.approx(scale * plain.tokens[i][s][t])
                assert found.channels["room"][i][s][t] == pytest.approx(room if sequence.mask[t] else 0.0)


def test_score_scaled_scales_group_norm():
    found, _ = said(0.5, [1.0, 1.0, 0.0, 0.0])
    assert [one[0][-1] for one in found.tokens] == pytest.approx([0.658, 0.658, -0.658, -0.658], abs=1e-3)


def test_a_lone_sibling_has_advantage_0_and_an_unscored_one_room_0():
    assert not any(array.any() for own in said(0.5, [1.0])[0].tokens for array in own)
    assert not any(array.any() for own in said(0.5, [1.0, 1.0])[0].tokens for array in own)
    found, _ = said(0.3, [1.0, 0.0, np.nan])
    assert not found.channels["room"][2][0].any() and not found.tokens[2][0].any()


def test_score_scaled_rejects_invalid_arguments():
    with pytest.raises(InputError, match="least from 0 to 1"):
        score_scaled(credit=group_norm(), least=1.5)
    with pytest.raises(InputError, match="has no score in its metadata"):
        score_scaled(credit=group_norm())(make_group(trajectories=[make_trajectory(texts=["a"])]), make_scores([1.0]))


def test_state_of_score_scaled_is_that_of_its_credit():
    class Counts:
        count = 0

        def __call__(self, group, scores):
            self.count += 1
            return group_norm()(group, scores)

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state):
            self.count = state["count"]

    first, second = (score_scaled(credit=Counts(), score=lambda task: 0.5) for _ in range(2))
    first(make_group(trajectories=[make_trajectory(texts=["a"])]), make_scores([1.0]))
    second.load_state_dict(first.state_dict())
    assert second.state_dict() == {"credit": {"count": 1}}
    assert score_scaled(credit=group_norm()).state_dict() == {}
