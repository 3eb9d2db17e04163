import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message
from handaxe.models.compact import Compact
from handaxe.papers.calibrated.confidence import stated_confidence
from handaxe.papers.calibrated.confident_sums import confident_sums
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def played(world, count=60, speaker=None):
    for number, task in enumerate(world.tasks("train", count, 0)):
        one = demonstrate(world.env(world.tools), task, speaker or world.expert, format=Compact(), seed=number)
        yield task, one, world.correct(Group(task, (one,))).outcome[0]


def test_the_contract():
    check_world(confident_sums(noise=0.0), count=12)


def test_only_products_are_wrong_and_half_of_them():
    right = {"product": [], "sum": []}
    for task, one, outcome in played(confident_sums(), count=150):
        assert len(one.calls) == 1 and one.replies[0].status == "ok" and stated_confidence(one) is not None
        right[task.metadata["operation"]].append(outcome)
    assert set(right["sum"]) == {1.0} and 0.35 < sum(right["product"]) / len(right["product"]) < 0.65
    assert {outcome for _, _, outcome in played(confident_sums(noise=0.0))} == {1.0}


def test_the_expert_is_surer_than_it_should_be_whatever_is_asked():
    said = {"product": [], "sum": []}
    for task, one, _ in played(confident_sums(), count=200):
        said[task.metadata["operation"]].append(stated_confidence(one))
    means = [sum(one) / len(one) for one in said.values()]
    assert all(0.55 < mean < 0.8 for mean in means) and set(said["product"]) >= {k / 10 for k in range(1, 11)}


def test_how_sure_it_is_does_not_make_an_answer_right_or_wrong():
    for text, wanted in (("{0} c0", 1), ("{0}", 1), ("{0} c11", 0), ("c5", 0), ("", 0)):
        speaker = lambda task, facts, text=text: Message("assistant", text.format(task.answer))  # noqa: E731
        assert {outcome for _, _, outcome in played(confident_sums(), count=3, speaker=speaker)} == {wanted}


def test_what_cannot_be():
    with pytest.raises(InputError, match="noise is 2"):
        confident_sums(noise=2)
