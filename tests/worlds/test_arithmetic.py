import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools.compute import compute
from handaxe.worlds.arithmetic import WARMUP, WARMUP_PHRASES, arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.reference_calls import reference_calls


def play(world, task, tools=None):
    offered = world.tools if tools is None else tools
    return demonstrate(world.env(offered), task, world.expert, format=Compact())


def score(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


@pytest.mark.parametrize("tools", [None, (compute,), ()], ids=["calculator", "compute", "none"])
def test_expert_calls_for_hard_questions_if_a_tool_can_compute_them(tools):
    world = arithmetic()
    for task in world.tasks("train", 60, 0):
        one = play(world, task, tools)
        assert score(world, one) == 1
        assert len(one.calls) == (task.metadata["difficulty"] == "hard" and tools != ())


def test_unsure_expert_calls_for_easy_questions():
    world = arithmetic(easy=1.0)
    (task,) = world.tasks("train", 1, 0)
    state = {"turn": 0, "replies": [], "statuses": [], "tools": ["calculator"], "sure": False}
    assert world.expert(task, state).calls == reference_calls(task)
    assert world.expert(task, {**state, "sure": True}).content == task.answer


def test_warmup_covers_every_easy_question_in_other_wordings():
    world = arithmetic(easy=1.0)
    answers = dict(WARMUP)
    assert len(WARMUP) == 1200 and answers["7*8 is"] == "56" and answers["3-8 is"] == "-5"
    for split in ("train", "test"):
        for task in world.tasks(split, 100, 0):
            for phrase in WARMUP_PHRASES:
                assert answers[phrase.format(task.metadata["expression"])] == task.answer
            assert task.messages[0].content not in answers


def test_last_number_scores_a_sentence():
    task = arithmetic().tasks("train", 1, 0)[0]
    one = demonstrate(arithmetic().env(()), task, says(f"It is {task.answer}"), format=Compact())
    assert score(arithmetic(), one) == 0 and score(arithmetic(last_number=True), one) == 1


def test_expert_with_mistakes_is_correct_after_a_failing_call_in_half_of_the_tasks():
    world, failed = arithmetic(easy=0.0, mistakes=True), []
    for task in world.tasks("train", 60, 0):
        one = play(world, task)
        statuses = [reply.status for reply in one.replies]
        assert score(world, one) == 1
        assert statuses in (["ok"], ["retry", "ok"]) and len(one.turns) == len(statuses) + 1
        failed.append(len(statuses) == 2)
    assert 0.3 < sum(failed) / len(failed) < 0.7


def test_first_call_failed_counts_failing_first_calls_of_rollouts_with_a_call():
    world = arithmetic(easy=0.0, mistakes=True)
    ((name, gauge),) = world.gauges.items()
    for task in world.tasks("train", 20, 0):
        one = play(world, task)
        assert gauge.bottom(one, 1.0) == 1 and gauge.top(one, 1.0) == (len(one.replies) == 2)
    silent = demonstrate(world.env(()), world.tasks("train", 1, 0)[0], says("7"), format=Compact())
    assert name == "first_call_failed" and gauge.bottom(silent, 0.0) == gauge.top(silent, 0.0) == 0


def test_breakdown_by_difficulty_needs_both_difficulties():
    assert arithmetic(easy=0.7).breakdown == ("difficulty",) and arithmetic(easy=0.0).breakdown == ()


def says(text):
    return lambda task, facts: Message("assistant", text)


def test_bad_arguments_raise_when_tasks_are_made():
    with pytest.raises(InputError, match="easy 0 to 1"):
        arithmetic(easy=2).tasks("train", 1, 0)
    with pytest.raises(TaskError, match="empty"):
        arithmetic().tasks("train", 0, 0)


def test_expert_is_correct_with_a_doubting_user_and_an_adviser():
    world = arithmetic(mistakes=True, easy=0.5, doubts=0.5, adviser=True)
    doubted, advised = 0, 0
    assert world.roles == ("user", "adviser") and "answer_kept" in world.gauges
    for task in world.tasks("train", 40, 0):
        rollout = world.make_rollout(8)
        one = demonstrate(
            world.env(world.tools),
            task,
            world.expert,
            format=Compact(),
            max_turns=8,
            rollout=rollout,
            seed=len(task.id),
        )
        assert score(world, one) == 1 and one.env["user_ended"]
        doubted += one.env["user_replies"] == 2
        told = [message.content for message in one.messages if message.name == "adviser"]
        failed = sum(reply.status != "ok" for reply in one.replies)
        assert told == ["Call the calculator with one expression, such as 12*34."] * failed
        advised += failed
    assert 5 < doubted < 35 and advised > 3


def test_the_plain_world_has_no_companions():
    assert arithmetic().roles == () and arithmetic().rollout is None and "answer_kept" not in arithmetic().gauges
    with pytest.raises(InputError, match="from 0 to 1"):
        arithmetic(doubts=2.0)
