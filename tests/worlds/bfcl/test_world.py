import json
from collections import Counter

import pytest

pytest.importorskip("bfcl_eval")

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.artist.call_match import call_match
from handaxe.rewards.state_match import state_match
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.bfcl.package import MULTI_TURN, SINGLE_TURN
from handaxe.worlds.bfcl.tasks import all_tasks, question_split
from handaxe.worlds.bfcl.world import bfcl, equal_state, full_state, turn_calls
from handaxe.worlds.parts.demonstrate import demonstrate

WITH_ANSWERS = tuple(name for name in SINGLE_TURN if not name.endswith("relevance"))


def says(text, *calls):
    return lambda task, facts: Message("assistant", text, calls)


def right(world, task, speaker=None):
    speaker = world.expert if speaker is None else speaker
    one = demonstrate(world.env(world.tools), task, speaker, format=Compact(), max_turns=64)
    assert one.ending.kind == "completed"
    return world.correct(Group(task, (one,))).outcome[0]


@pytest.mark.parametrize("category", [MULTI_TURN, WITH_ANSWERS, ("short",)], ids=["multi", "single", "short"])
def test_bfcl_keeps_the_world_contract(category):
    check_world(bfcl(category=category))


@pytest.mark.slow
@pytest.mark.parametrize("category, count", [*((name, 200) for name in MULTI_TURN), *zip(SINGLE_TURN, (
    400, 98, 50, 200, 200, 200, 240, 256, 1051, 16, 24, 884, 16))])  # fmt: skip
def test_every_answer_is_correct_and_an_empty_turn_is_not(category, count):
    """Except for empty turns in irrelevance tasks."""
    world, tasks = bfcl(category=(category,)), all_tasks(category)
    assert len(tasks) == count
    assert sum(right(world, task) for task in tasks) == count
    silent = sum(right(world, task, says("")) for task in tasks)
    assert silent == (count if category.endswith("irrelevance") else 0)


def test_the_split_of_a_question_is_constant():
    sides = {}
    for category in (*MULTI_TURN, *SINGLE_TURN):
        for task in all_tasks(category):
            split = sides.setdefault(repr(task.messages), question_split(task))
            assert split == question_split(task), task.id
    for variants in zip(*map(all_tasks, MULTI_TURN)):
        assert (
            len({question_split(task) for task in variants}) == len({task.metadata["number"] for task in variants}) == 1
        )
    tested = [question_split(task) == "test" for task in all_tasks("multi_turn_base")]
    assert sum(tested) == 50


def test_questions_of_a_scenario_have_one_split():
    """Equal first states of a simulator; seven questions share a vehicle."""
    sides = {}
    for task in all_tasks("multi_turn_base"):
        for name, state in task.metadata["config"].items():
            if name != "MathAPI":
                sides.setdefault(json.dumps([name, state], sort_keys=True), []).append(question_split(task))
    assert max(map(len, sides.values())) == 7
    assert all(len(set(found)) == 1 for found in sides.values())


def test_domains_break_down_multi_turn_categories():
    assert bfcl().breakdown == ("category", "domain") and bfcl(category=("multiple",)).breakdown == ("category",)
    counts = Counter(task.metadata["domain"] for task in all_tasks("multi_turn_base"))
    assert counts == {"files": 50, "trading": 50, "travel": 50, "vehicle": 50}


@pytest.mark.parametrize("category", ["multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context"])
def test_single_calls_give_a_turn_a_call(category):
    """The task with 34 calls in a turn of the user, more than a turn takes, makes them at once."""
    world = bfcl(category=(category,), single_calls=True)
    for task in all_tasks(category)[:: 40 if category.endswith("context") else 10]:
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=64)
        gold = turn_calls(task)
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        assert [len(turn.parsed.calls) for turn in one.turns] == [k for calls in gold for k in (*[1] * len(calls), 0)]
        assert one.final_text in ("Done.", "I lack a function or a value for this.")


def test_more_calls_than_turns_are_made_at_once():
    world = bfcl(category=("multi_turn_long_context",), single_calls=True)
    task = max(all_tasks("multi_turn_long_context"), key=lambda task: max(map(len, turn_calls(task))))
    one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=64)
    assert one.env["valid"] and max(len(turn.parsed.calls) for turn in one.turns) == 34


def test_a_long_short_task_fits_512_tokens():
    world = bfcl(category=("short",), user_turns=8)
    for task in world.tasks("train", 40, 0):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=world.start_turns)
        assert one.env["valid"] and len(one.sequences[0]) <= 512 and 8 <= len(one.turns) <= 16


@pytest.mark.parametrize("arguments", [{"category": ("short",), "user_turns": 9}, {"user_turns": 4}])
def test_invalid_user_turns_raise(arguments):
    with pytest.raises(InputError, match="user_turns is 1 to 8"):
        bfcl(**arguments)


def test_the_seed_determines_the_tasks():
    world = bfcl(category=("multi_turn_base", "multi_turn_miss_param"))
    some, others = world.tasks("test", 20, 0), world.tasks("test", 20, 1)
    assert [task.id for task in some] != [task.id for task in others]
    assert {task.metadata["category"] for task in some} == {"multi_turn_base", "multi_turn_miss_param"}
    assert len(world.tasks("test", 10**6, 0)) == 100 and len(world.tasks("train", 10**6, 0)) == 300
    with pytest.raises(TaskError, match="count of 1 or more"):
        world.tasks("train", 0, 0)


def test_a_single_turn_is_scored_by_its_calls():
    world = bfcl(category=("simple_python",))
    task = all_tasks("simple_python")[1]
    assert world.reference(task) == (ToolCall("math_factorial", {"number": 5}),)
    assert right(world, task) == 1
    for number in (5.0, 6):
        assert right(world, task, says("", ToolCall("math_factorial", {"number": number}))) == 0
    assert right(world, task, says("120")) == 0


def test_java_and_javascript_arguments_are_texts():
    for category, number, right_text, wrong in (
        ("simple_java", 1, 'new HashMap<String, Object>() {{ put("limit", 50); put("schemaFilter", "public"); }}', {}),
        ("simple_javascript", 1, "true", True),
    ):
        world, task = bfcl(category=(category,)), all_tasks(category)[number]
        ((name, _),) = [(one["name"], one) for one in task.metadata["gold"]]
        key = {"simple_java": "params", "simple_javascript": "value"}[category]
        gold = task.metadata["gold"][0]["arguments"]
        assert right(world, task, says("", ToolCall(name, {**gold, key: right_text}))) == 1
        assert right(world, task, says("", ToolCall(name, {**gold, key: wrong}))) == 0
        env = world.env(())(task)
        (schema,) = env.start()[1]
        env.close()
        assert {one["type"] for one in schema.parameters["properties"].values()} == {"string"}
        assert f"of {'Java' if category == 'simple_java' else 'JavaScript'}." in schema.description


def test_irrelevance_tasks_reject_every_call():
    for category, without in (("irrelevance", 1), ("live_relevance", 0)):
        world, task = bfcl(category=(category,)), all_tasks(category)[0]
        name = task.metadata["functions"][0]["name"].replace(".", "_")
        assert right(world, task, says("I cannot do that.")) == without
        assert right(world, task, says("", ToolCall(name, {}))) == 1 - without


def test_further_tools_are_offered():
    world = bfcl()
    for task in (all_tasks("multi_turn_base")[0], all_tasks("multiple")[0]):
        env = world.env([calculator])(task)
        assert "calculator" in [tool.name for tool in env.start()[1]]
        env.close()


def test_equal_state_compares_attributes_with_the_answers_final_state():
    world, task = bfcl(), all_tasks("multi_turn_base")[0]

    def at(turns):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=turns)
        return one, equal_state(one)

    assert (
        set(full_state(task))
        == set(at(2)[1])
        == {"GorillaFileSystem.root"}
        | {
            f"TwitterAPI.{name}"
            for name in ("username", "password", "authenticated", "tweets", "comments", "retweets", "following_list")
        }
        | {"TwitterAPI.tweet_counter"}
    )
    assert all(full_state(task).values()) and at(64)[1] == full_state(task)
    half = at(2)[1]
    assert not half["GorillaFileSystem.root"] and half["TwitterAPI.tweets"]
    one = at(64)[0]
    group = Group(task, (one, at(2)[0]))
    function = call_match(by_turn=turn_calls)(group).outcome
    first, every = (sum(map(len, turn_calls(task)[:n])) for n in (1, 9))
    assert function.tolist() == [0.5, 0.5 * first / every]
    assert state_match(gold=full_state, state=equal_state)(group).outcome.tolist() == [0.5, 0.5 * 8 / 9]
    single = all_tasks("multiple")[0]
    with pytest.raises(TaskError, match="no simulators"):
        full_state(single)


def test_full_state_is_true_for_every_base_task():
    for category in MULTI_TURN[:1]:
        assert all(full_state(task) for task in all_tasks(category))


def test_progress_is_an_evaluation_metric():
    world = bfcl()
    task = all_tasks("multi_turn_base")[0]
    one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=2)
    (gauge,) = world.gauges.values()
    assert gauge.top(one, 0.0) == 0.25 and one.turns[1].facts["progress"] == 0.25


@pytest.mark.parametrize(
    "category, message",
    [
        (("multi_turn_bse",), "has no category 'multi_turn_bse'; did you mean multi_turn_base"),
        (("xyz",), "there are short, multi_turn_base"),
        ((), "one category or more"),
        (("short", "multiple"), "short stands alone"),
    ],
)
def test_an_unknown_category_raises(category, message):
    with pytest.raises(InputError, match=message):
        bfcl(category=category)
