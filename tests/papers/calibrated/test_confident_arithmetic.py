import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.calibrated.confidence import stated_confidence
from handaxe.papers.calibrated.confident_arithmetic import confident_arithmetic
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def played(world, count=60, speaker=None):
    for number, task in enumerate(world.tasks("train", count, 0)):
        one = demonstrate(world.env(world.tools), task, speaker or world.expert, format=Compact(), seed=number)
        yield task, one, world.correct(Group(task, (one,))).outcome[0]


def test_confident_arithmetic_keeps_the_world_contract():
    check_world(confident_arithmetic(noise=0.0), count=12)


def test_half_of_the_products_are_incorrect():
    right = {"product": [], "sum": []}
    for task, one, outcome in played(confident_arithmetic(), count=150):
        assert len(one.calls) == 1 and one.replies[0].status == "ok" and stated_confidence(one) is not None
        right[task.metadata["operation"]].append(outcome)
    assert set(right["sum"]) == {1.0} and 0.35 < sum(right["product"]) / len(right["product"]) < 0.65
    assert {outcome for _, _, outcome in played(confident_arithmetic(noise=0.0))} == {1.0}


def test_the_experts_confidence_is_too_high_for_both_operations():
    said = {"product": [], "sum": []}
    for task, one, _ in played(confident_arithmetic(), count=200):
        said[task.metadata["operation"]].append(stated_confidence(one))
    means = [sum(one) / len(one) for one in said.values()]
    assert all(0.55 < mean < 0.8 for mean in means) and set(said["product"]) >= {k / 10 for k in range(1, 11)}


def test_correctness_ignores_the_confidence():
    for text, wanted in (("{0} c0", 1), ("{0}", 1), ("{0} c11", 0), ("c5", 0), ("", 0)):
        speaker = lambda task, facts, text=text: Message("assistant", text.format(task.answer))  # noqa: E731
        assert {outcome for _, _, outcome in played(confident_arithmetic(), count=3, speaker=speaker)} == {wanted}


def test_invalid_noise_raises():
    with pytest.raises(InputError, match="noise is 2"):
        confident_arithmetic(noise=2)
