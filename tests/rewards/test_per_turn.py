import pytest

from handaxe import rewards
from handaxe.core.errors import VerifierError
from handaxe.testing.make_records import make_group, make_trajectory

CONTRACT = []
LAB = "lifts a user's function"


def with_texts(*texts):
    return make_group(trajectories=[make_trajectory(texts=[text]) for text in texts])


def test_per_turn_matches_the_docstring_example():
    trajectory = make_trajectory(texts=["a", "bb"])
    silent = make_trajectory(layouts=["UUt"])
    scores = rewards.per_turn(lambda t: [len(turn.parsed.text) for turn in t.turns])(
        make_group(trajectories=[trajectory, silent])
    )
    assert [turn.tolist() for turn in scores.turns] == [[1, 2], []]
    assert scores.outcome.tolist() == [0, 0]


@pytest.mark.parametrize("value", [None, 1.0, [1.0], [1.0, float("nan")], [1.0, None], [1.0, 2.0, 3.0]])
def test_wrong_turn_values_name_the_trajectory(value):
    group = make_group(trajectories=[make_trajectory(texts=["a", "b"])])
    with pytest.raises(VerifierError, match=group[0].id):
        rewards.per_turn(lambda trajectory: value)(group)
