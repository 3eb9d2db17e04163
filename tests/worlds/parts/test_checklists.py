from handaxe.core.records import ToolCall, ToolReply
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.criteria import criteria_progress
from handaxe.papers.cm2.checklist import checklist
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.checklists import call_check, call_criteria
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.reference_calls import reference_calls

GOLD = (ToolCall("search", {"query": "kemi boss"}), ToolCall("search", {"query": "luta ally"}))
TASK = make_task(answer="dozo")


def gold(task):
    return GOLD


def says(turn):
    return bool(turn.parsed.text)


CRITERIA, CHECK = call_criteria(gold), call_check(gold, is_answer=says)


def met(calls, texts, replies=None):
    one = make_trajectory(texts=texts, calls=calls, replies=replies, task=TASK)
    return CHECK(one, CRITERIA(TASK)).astype(int).tolist()


def test_call_criteria_are_calls_in_order_and_the_answer():
    names = [(one.name, one.after, one.points) for one in CRITERIA(TASK)]
    assert names == [("call 0", (), 1.0), ("call 1", ("call 0",), 1.0), ("answer", ("call 1",), 1.0)]
    assert CRITERIA(TASK)[0].text == "It calls search(query='kemi boss')."
    assert all(one.after == () for one in call_criteria(gold, in_order=False)(TASK))
    assert [one.name for one in call_criteria(lambda task: ())(TASK)] == ["answer"]


def test_call_check_matches_its_example():
    assert met([[GOLD[0]], [], []], ["", "", "The Dozo!"]) == [[1, 1, 1], [0, 0, 0], [0, 0, 1]]
    assert met([[GOLD[0]], [GOLD[1]], []], ["", "", "kemi"]) == [[1, 1, 1], [0, 1, 1], [0, 0, 0]]


def test_failed_and_different_calls_meet_no_criterion():
    failed = [[ToolReply("0-0", "search", "no index", "failed")], []]
    assert met([[GOLD[0]], []], ["", ""], failed)[0] == [0, 0]
    assert met([[ToolCall("search", {"query": "kemi"})], []], ["", ""])[0] == [0, 0]


def test_each_call_counts_once():
    twice = call_check(lambda task: (GOLD[0], GOLD[0]), is_answer=says)
    criteria = call_criteria(lambda task: (GOLD[0], GOLD[0]))(TASK)
    one = make_trajectory(calls=[[GOLD[0]], [GOLD[0]]], task=TASK)
    assert twice(one, criteria)[:2].tolist() == [[True, True], [False, True]]
    assert twice(one, criteria[1:2]).shape == (1, 2)


def test_call_check_uses_a_custom_answer_comparison():
    check = call_check(gold, is_answer=says, correct=lambda task, text: text == "42")
    one = make_trajectory(texts=["42"], task=TASK)
    assert check(one, CRITERIA(TASK))[2].tolist() == [True]


def test_the_expert_meets_all_criteria():
    world = arithmetic(easy=0.0)
    reward = checklist(
        criteria=call_criteria(reference_calls), check=call_check(reference_calls, is_answer=world.is_answer)
    )
    for task in world.tasks("test", 5, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        assert reward(make_group(trajectories=[one], task=task)).turns[0].tolist() == [0.5, 0.5]
        silent = make_trajectory(texts=["none"], task=task)
        assert not criteria_progress(
            call_check(reference_calls, is_answer=says), silent, call_criteria(reference_calls)(task)
        ).met_CN.any()


def test_the_expert_meets_all_criteria_in_hops():
    world = hops(lengths=(1, 3))
    reward = checklist(criteria=world.need("criteria"), check=world.need("check"))
    for task in world.tasks("test", 4, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        earned = reward(make_group(trajectories=[one], task=task)).turns[0]
        assert earned.tolist() == [1 / len(one.turns)] * len(one.turns)
        assert world.gauges["wasted_calls"].top(one, 1.0) == 0
