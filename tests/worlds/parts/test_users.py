from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, Task
from handaxe.envs.with_user import STOP, User
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.users import ANSWER_KEPT, DOUBTS, add_user, doubting_user

TASK = Task("t", (Message("user", "2*7=?"),), "14")


def view(texts):
    """View of a user after a number of texts of the policy."""
    return [Message("assistant", "?"), Message("user", "14")] * texts


def played(world, *texts):
    def says(task, facts):
        return Message("assistant", texts[min(facts["turn"], len(texts) - 1)])

    return demonstrate(world.env(()), TASK, says, format=Compact(), max_turns=5)


def test_a_doubting_user_matches_the_docstring_example():
    always = doubting_user(1.0).rule
    assert always(TASK, view(1), 0) in DOUBTS and always(TASK, view(2), 0) == STOP
    assert {doubting_user(1.0, most=2).rule(TASK, view(2), seed) for seed in range(40)} == set(DOUBTS)
    assert {doubting_user(0.0).rule(TASK, view(1), seed) for seed in range(40)} == {STOP}


def test_the_share_of_doubts_is_the_probability():
    doubts = [doubting_user(0.3).rule(TASK, view(1), seed) != STOP for seed in range(2000)]
    assert 0.27 < sum(doubts) / 2000 < 0.33


def test_add_user_changes_environment_and_roles_alone():
    plain = arithmetic()
    world = add_user(plain, doubting_user(1.0))
    assert world.roles == ("user",) and replace(world, env=plain.env, roles=()) == plain
    assert add_user(plain, User(lambda task, view, seed: STOP)).roles == ()
    one = played(world, "14", "15")
    assert [message.content for message in one.messages][::2] == ["2*7=?", one.messages[2].content, STOP]
    assert one.messages[2].content in DOUBTS and world.correct(Group(TASK, (one,))).outcome.tolist() == [0]
    assert world.correct(Group(TASK, (played(world, "15", "14"),))).outcome.tolist() == [1]


@pytest.mark.parametrize("texts, kept", [(("14", "14"), 1), (("14", " 14 "), 1), (("14", "15"), 0), (("15", "14"), 0)])
def test_answer_kept_compares_the_first_and_the_last_text(texts, kept):
    one = played(add_user(arithmetic(), doubting_user(1.0)), *texts)
    assert (ANSWER_KEPT.top(one, 0.0), ANSWER_KEPT.bottom(one, 0.0)) == (kept, 1)
    single = played(add_user(arithmetic(), doubting_user(0.0)), *texts)
    assert (ANSWER_KEPT.top(single, 0.0), ANSWER_KEPT.bottom(single, 0.0)) == (0, 0)


@pytest.mark.parametrize("arguments", [{"doubt": 1.5}, {"doubt": -0.1}, {"doubt": 0.5, "most": 0}], ids=str)
def test_invalid_arguments_raise(arguments):
    with pytest.raises(InputError, match="from 0 to 1"):
        doubting_user(**arguments)
