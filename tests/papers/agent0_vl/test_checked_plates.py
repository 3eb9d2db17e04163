import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.agent0_vl.checked_plates import checked_plates
from handaxe.papers.agent0_vl.two_roles import solver_steps
from handaxe.papers.agent0_vl.verified_steps import verified_steps
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("sklearn")
pytest.importorskip("PIL")


def played(world, count=30):
    tasks, format = world.tasks("train", count, 0), Compact(TinyImageProcessor(8))
    return [
        demonstrate(world.env(()), task, world.expert, format=format, rollout=world.make_rollout(12)) for task in tasks
    ]


def share(name, world, made):
    gauge = world.gauges[name]
    return sum(gauge.top(one, 1.0) for one in made) / sum(gauge.bottom(one, 1.0) for one in made)


def test_checked_plates_keeps_the_world_contract():
    check_world(checked_plates(), count=12)


@pytest.mark.parametrize("errors", [0.0, 0.5, 1.0])
def test_the_expert_repairs_its_errors(errors):
    world = checked_plates(errors=errors)
    made = played(world)
    assert share("repaired", world, made) == pytest.approx(errors, abs=0.15)
    assert share("approved", world, made) == share("approved_correct", world, made) == 1
    for one in made:
        assert world.correct(Group(one.task, (one,))).outcome[0] == 1
        assert [step.verdicts[-1].score for step in solver_steps(one)] == [1, 1]
        assert all(step.verdicts[0].score == (-1 if len(step.verdicts) > 1 else 1) for step in solver_steps(one))


def test_a_repair_costs_little_and_an_approved_answer_earns():
    """Straight: 1 + (0.3 + 0.9 - g) + 0.99 (0.9 - g), g = 0.05 sigmoid(10 (0.7 - 0.9)) = 0.00596."""
    straight, repaired = (
        verified_steps()(Group(one.task, (one,))).outcome[0]
        for one in (played(checked_plates(errors=0.0), 1)[0], played(checked_plates(errors=1.0), 1)[0])
    )
    assert straight == pytest.approx(1 + 1.2 - 0.00596 + 0.99 * (0.9 - 0.00596), abs=1e-4)
    assert 0 < straight - repaired < 0.1


def test_an_answer_of_the_verifier_is_no_answer():
    world = checked_plates(errors=0.0)
    (one,) = played(world, 1)
    assert one.final_text == f"{one.task.answer} .9" and world.correct(Group(one.task, (one,))).outcome[0] == 1


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="errors is 2"):
        checked_plates(errors=2)
