import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.rewards.dispatch import dispatch
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.token_f1 import token_f1
from handaxe.testing.make_records import make_group, make_task, make_trajectory

KINDS = {"exact": exact_match(), "words": token_f1()}
CONTRACT = [{"key": "kind", "rewards": KINDS}]
LAB = "passes other rewards on"


def of_kind(kind):
    task = make_task(answer="red car", metadata={"kind": kind})
    texts = ("red car", "red bus", "no")
    return make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task) for text in texts])


SIBLINGS = of_kind("words")


def test_dispatch_matches_the_docstring_example():
    reward = dispatch(key="kind", rewards=KINDS)
    assert reward(of_kind("words")).outcome.tolist() == pytest.approx([1, 0.5, 0])
    assert reward(of_kind("exact")).outcome.tolist() == [1, 0, 0]


def test_a_kind_without_a_reward_is_an_error():
    with pytest.raises(TaskError, match="'other' as metadata 'kind'; there are rewards for exact, words"):
        dispatch(key="kind", rewards=KINDS)(of_kind("other"))
    with pytest.raises(TaskError, match="None as metadata 'sort'"):
        dispatch(key="sort", rewards=KINDS)(of_kind("words"))
    with pytest.raises(InputError, match="no rewards"):
        dispatch(key="kind", rewards={})


def test_the_state_of_each_reward_is_kept():
    def reward():
        return dispatch(key="kind", rewards={"few": fewer_calls(base=exact_match(), smooth=4), "exact": exact_match()})

    one, other = reward(), reward()
    one(of_kind("few"))
    other.load_state_dict(one.state_dict())
    assert set(one.state_dict()) == {"few"} and other.state_dict() == one.state_dict()
