import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.language_to_rewards.instructions import MOTIONS, STANCES, Motion
from handaxe.papers.language_to_rewards.motion_commands import motion_commands, primitive_program, read_meaning
from handaxe.papers.language_to_rewards.setters import read_primitives
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def played(world, task, *calls):
    def speaker(task, facts):
        return Message("assistant", "", (ToolCall(*calls[min(facts["turn"], len(calls) - 1)]),))

    one = demonstrate(world.env(()), task, speaker, format=Compact(), max_turns=2)
    return float(world.correct(Group(task, (one,))).outcome[0]), one


@pytest.mark.parametrize("form", ["described", "direct"])
def test_the_world_keeps_the_contract(form):
    check_world(motion_commands(form=form), count=8)


def test_no_meaning_is_in_both_splits():
    world = motion_commands()
    train, test = ({read_meaning(one) for one in world.tasks(split, 200, 0)} for split in ("train", "test"))
    assert not train & test and {motion.kind for motion, _ in train} == {motion.kind for motion in MOTIONS}


def test_the_described_form_has_two_calls_and_others_one():
    world = motion_commands()
    (task,) = world.tasks("train", 1, 0)
    one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=2)
    assert [call.name for call in one.calls] == ["describe", "reward"]
    assert world.is_answer(one.turns[-1]) and not world.is_answer(one.turns[0])


def test_wrong_targets_fail_and_a_refused_program_executes_nothing():
    world = motion_commands(form="direct")
    task = next(one for one in world.tasks("train", 50, 0) if one.metadata["kind"] == "speed")
    assert played(world, task, ("reward", {"code": "height 3"}))[0] == 0
    score, one = played(world, task, ("reward", {"code": "jump 1"}))
    assert score == 0 and one.replies[0].status != "ok"


def test_primitive_programs_fail_where_two_targets_are_needed():
    world = motion_commands(form="primitives")
    rows = {}
    for task in [*world.tasks("train", 120, 0), *world.tasks("test", 60, 0)]:
        motion, stance = read_meaning(task)
        if (motion.kind, bool(stance)) not in rows:
            code = primitive_program(motion, stance)
            rows[motion.kind, bool(stance)] = played(world, task, ("act", {"code": code}))[0]
    possible = {kind for (kind, stance), score in rows.items() if not stance and score}
    assert possible == {motion.kind for motion in MOTIONS} - {"speed+turn"}
    assert {kind for (kind, stance), score in rows.items() if stance and score} == {"still"}


def test_primitive_programs_match_their_examples_and_are_valid():
    assert primitive_program(Motion(heading="east", place="north"), "") == "go north;look east"
    assert primitive_program(Motion(speed="slow"), "low") == "crouch;walk"
    for motion in MOTIONS:
        for stance in STANCES:
            assert read_primitives(primitive_program(motion, stance))


def test_an_unknown_form_raises():
    with pytest.raises(InputError, match="form is one of described, direct, primitives"):
        motion_commands(form="spoken")
