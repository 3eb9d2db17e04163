import itertools

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.deeptravel.journeys import each_reply, journeys, plan_agreement
from handaxe.papers.deeptravel.journeys_plans import Timetable, is_feasible
from handaxe.rewards.gate import gate
from handaxe.rewards.rubric_points import rubric_points
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"brief": False, "choices": 3, "digits": 3, "ordered": False}])
def test_journeys_keeps_the_world_contract(options):
    check_world(journeys(**options))


def play(world, task, change=lambda plan: plan, calls=None):
    """The expert with another final answer and a selection of its calls."""
    gold = task.metadata["gold_calls"]
    made = [gold[k] for k in (range(len(gold)) if calls is None else calls)]

    def speaker(task, facts):
        if facts["turn"] < len(made):
            return world.expert(task, {**facts, "turn": gold.index(made[facts["turn"]])})
        return Message("assistant", " ".join(change(task.answer.split())))

    return demonstrate(world.env(()), task, speaker, format=Compact(), context=512)


def is_right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0] == 1


def agrees(one, aggregate):
    reward = rubric_points(items=each_reply, check=plan_agreement(), aggregate=aggregate)
    return reward(Group(one.task, (one,))).outcome[0]


def test_demonstrations_of_three_legs_fit_512_tokens():
    world = journeys(legs=(3,))
    for task in world.tasks("train", 20, 0):
        one = play(world, task)
        assert is_right(world, one) and one.ending.kind == "completed" and len(one.calls) == 6
        assert agrees(one, "all") == 1 and world.gauges["unfounded"].top(one, 1.0) == 0


def test_the_expert_states_its_partial_plan_beside_each_call():
    world = journeys(legs=(2,))
    (task,) = world.tasks("train", 1, 0)
    one, plan = play_plainly(world, task), task.answer.split()
    assert [turn.parsed.text for turn in one.turns] == [" ".join(plan[:k]) for k in range(5)]
    assert [bool(turn.parsed.calls) for turn in one.turns] == [True] * 4 + [False]
    for turn, reply in zip(one.turns[1:4], one.replies):
        assert turn.parsed.text.split()[-1] in reply.content


def play_plainly(world, task):
    return demonstrate(world.env(()), task, world.expert, format=Compact(), context=512)


def test_a_feasible_plan_without_tool_results_is_incorrect():
    world = journeys(legs=(2,))
    (task,) = world.tasks("train", 1, 0)
    one = play(world, task, calls=range(3))
    gauge = world.gauges["unfounded"]
    assert not is_right(world, one) and (gauge.top(one, 0.0), gauge.bottom(one, 0.0)) == (1, 4)
    assert agrees(one, "all") == 1  # the verifier sees the calls that were made, not missing ones


def test_infeasible_plans_are_incorrect():
    world = journeys(legs=(2,))
    (task,) = world.tasks("train", 1, 0)
    for change in (
        lambda plan: plan[:2],
        lambda plan: [*plan, plan[0]],
        lambda plan: [plan[2], plan[3], plan[0], plan[1]],
        lambda plan: [plan[1], plan[0], *plan[2:]],
        lambda plan: ["t000", *plan[1:]],
    ):
        assert not is_right(world, play(world, task, change))
    half = play(world, task, lambda plan: plan[:2])
    assert agrees(half, "all") == 0 and agrees(half, "mean") == 0.5


@pytest.mark.parametrize(("aggregate", "paid"), [("all", 0.0), ("mean", 2 / 3)])
def test_the_second_verifier_judges_correct_plans_only(aggregate, paid):
    """The plan is correct, and two of three replies agree with it; an incorrect plan costs no question."""
    world, asked = journeys(legs=(1,)), []
    (task,) = world.tasks("train", 1, 0)

    def check(trajectory, criteria):
        asked.append(trajectory)
        return plan_agreement()(trajectory, criteria)

    replies = rubric_points(items=each_reply, check=check, aggregate=aggregate, without=0.0)
    reward = gate(on=world.correct, then=replies, ask="passed")
    twice, wrong = play(world, task, calls=(0, 1, 0)), play(world, task, lambda plan: plan[:1])
    scores = reward(Group(task, (twice, wrong)))
    assert scores.outcome.tolist() == pytest.approx([paid, 0]) and scores.channels["on"].tolist() == [1, 0]
    assert asked == [twice]


def test_feasible_plans_equal_an_enumeration():
    """Feasible plans of a route equal those of a slow enumeration, and contain the answer."""
    table, world = Timetable(seed=0, choices=2, digits=1, ordered=True), journeys(legs=(2,))
    seen = set()
    for task in world.tasks("train", 20, 0):
        route, budget = task.metadata["route"], task.metadata["budget"]
        steps = [own for a, b in itertools.pairwise(route) for own in (table.trains(a, b), table.hotels(b))]
        for plan in itertools.product(*steps):
            first, second = plan[0], plan[2]
            holds = first.arrives <= second.leaves and sum(one.price for one in plan) <= budget
            assert is_feasible(table, route, budget, [one.name for one in plan]) == holds
            seen.add((holds, first.arrives <= second.leaves))
        assert is_feasible(table, route, budget, task.answer.split())
    assert seen == {(True, True), (False, True), (False, False)}


def test_the_cache_separates_training_and_test(tmp_path):
    world, plain = journeys(legs=(1,), cache=str(tmp_path)), journeys(legs=(1,))
    for split in ("train", "test"):
        (task,) = world.tasks(split, 1, 0)
        said = [[reply.content for reply in play(own, task).replies] for own in (world, world, plain)]
        assert said[0] == said[1] == said[2]
    assert {path.name for path in tmp_path.iterdir()} == {"training.sqlite", "evaluation.sqlite"}
    with pytest.raises(InputError, match="is no store of replies"):
        journeys(cache=str(tmp_path / "no" / "folder"))


def test_towns_outside_two_digits_are_rejected():
    world = journeys()
    (task,) = world.tasks("train", 1, 0)
    env = world.env(())(task)
    env.start()
    asked = [("trains", {"start": 41, "to": 41}), ("hotels", {"town": 7}), ("hotels", {"town": "x"})]
    calls = tuple(ToolCall(name, given, f"t0c{k}") for k, (name, given) in enumerate(asked))
    assert [one.status for one in env.step(ParsedTurn("", calls), seed=0).replies] == ["retry", "retry", "invalid"]
    env.close()


@pytest.mark.parametrize("ordered", [True, False])
def test_ordered_lists_begin_with_the_earliest_and_the_cheapest(ordered):
    table = Timetable(seed=0, choices=2, ordered=ordered)
    arrive = [[one.arrives for one in table.trains(a, a + 1)] for a in range(10, 40)]
    cost = [[one.price for one in table.hotels(town)] for town in range(10, 40)]
    for lists in (arrive, cost):
        assert all(own == sorted(own) for own in lists) == ordered


@pytest.mark.parametrize("options", [{}, {"choices": 4, "digits": 2}])
def test_names_of_a_journey_are_distinct(options):
    world = journeys(legs=(3,), **options)
    for task in world.tasks("test", 10, 0):
        plan_names = [one.split()[0] for reply in play(world, task).replies for one in reply.content.split(", ")]
        assert len(set(plan_names)) == len(plan_names) == 6 * options.get("choices", 2)
        assert {len(name) - 1 for name in plan_names} == {options.get("digits", 1)}


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="more than 6 trains: 1 for 3 legs of 3"):
        journeys(choices=3)
    with pytest.raises(InputError, match="1 to 3 digits"):
        journeys(digits=4)
    with pytest.raises(InputError, match="legs 1 to 3"):
        journeys(legs=(4,))
    with pytest.raises(InputError, match="slack 0 to 9"):
        journeys(slack=30)
