import builtins
import itertools
import random

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall
from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.matchtir.assigned_calls import assigned_calls
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory
from handaxe.worlds.hops.world import hops

G = ToolCall("f", {"a": 1, "b": 2})


def golden(*calls):
    return lambda task: calls


CONTRACT = [
    {"gold": golden(ToolCall("f", {"x": 1, "y": 2}), ToolCall("g", {}))},
    {"gold": golden(ToolCall("f", {"x": 1, "y": 2}), ToolCall("g", {})), "assign": "soft"},
    {"gold": golden(ToolCall("f", {"x": 1, "y": 2})), "released": True, "penalty": -0.5},
    {"gold": golden(), "answered": lambda turn: bool(turn.parsed.text), "penalty": -1.0},
]
LAB = [
    LabCase(
        "assigned_calls(...)",
        hops,
        lambda world: assigned_calls(gold=world.need("reference"), answered=world.need("is_answer")),
    ),
]


def turns(calls, gold, *, texts=None, errors=None, answer="paris", **knobs):
    one = make_trajectory(
        texts=texts or [""] * len(calls), calls=calls, errors=errors, task=make_task(answer=answer), replies=None
    )
    scores = assigned_calls(gold=golden(*gold), **knobs)(make_group(trajectories=[one], task=one.task))
    assert scores.outcome.tolist() == [0]
    return scores.turns[0].tolist()


def f(**arguments):
    return ToolCall("f", arguments)


@pytest.mark.parametrize(
    "call, worth",
    [
        (f(a=1, b=3), 0.75),
        (f(a=1), 0.625),
        (ToolCall("h", {"a": 1, "b": 2}), 0),
        (ToolCall("F", {"a": 1, "b": 2}), 1),
        (f(), 0.25),
        (f(a=1, b=2, c=3), (1 + 2 / 3 + 2) / 4),
    ],
)
def test_similarity_equals_the_worked_examples(call, worth):
    for knobs in ({}, {"released": True}, {"assign": "soft"}):
        assert turns([[call]], [G], **knobs) == [pytest.approx(worth)]


def test_calls_without_parameters_match_by_name():
    assert turns([[ToolCall("g", {})]], [ToolCall("g", {})]) == [1]


CROSSED = [ToolCall("f", {"a": 1, "b": 2}), ToolCall("f", {"c": 1, "d": 2})]


def test_assignments_equal_the_worked_example():
    """f(a, b) and f(c, d) share their name alone: S = ((1, 0.25), (0.25, 1))."""
    assert turns([[CROSSED[0]], [CROSSED[1]]], CROSSED) == [1, 1]
    assert turns([[CROSSED[0]], [CROSSED[1]]], CROSSED, assign="soft") == pytest.approx([0.49979, 0.49979], abs=1e-5)


def test_the_transport_plan_equals_its_definition():
    """Rescaled until both margins hold, the plan is exp(S / regularisation) with a factor a row and a column."""
    calls = [[f(a=1)], [f(a=1, b=2)], [f(c=1)]]
    similar = np.array([[0.625, 0.25], [1, 0.25], [0.25, 0.625]])
    plan = np.exp(similar / 0.3)
    for _ in range(2000):
        plan *= (1 / 3 / plan.sum(1))[:, None]
        plan *= 0.5 / plan.sum(0)
    wanted = (plan * similar).sum(1)
    found = turns(calls, CROSSED, assign="soft", regularisation=0.3)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_the_greedy_assignment_may_have_a_smaller_sum():
    """S = ((1, 0.75), (0.75, 0)): the best sum is 0.75 + 0.75, the greedy one takes 1 and leaves nothing."""
    wanted = [f(a=1, b=2), ToolCall("f", {"a": 1, "b": 3})]
    calls = [[f(a=1, b=2)], [ToolCall("h", {})]]
    assert turns(calls, wanted, penalty=-0.5) == [1, -0.5]
    made = [[f(a=1, b=2)], [f(b=2)]]
    assert turns(made, [f(a=1, b=2), f(a=1, c=2)], released=True) == [1, 0.25]
    # f(b=2) is worth 0.625 with the first and 0.25 with the second; f(a=1, b=2) 1 and (1 + 1/3 + 1) / 4 = 0.58333
    assert turns(made, [f(a=1, b=2), f(a=1, c=2)]) == [1, 0.25]
    gold = [f(a=1, b=2), f(a=1, b=9)]
    made = [[f(a=1, b=2)], [f(a=5, b=2)]]
    # S = ((1, 0.75), (0.75, 0.5)): both sum to 1.5
    assert sum(turns(made, gold)) == pytest.approx(1.5) and sum(turns(made, gold, released=True)) == pytest.approx(1.5)
    gold, made = [f(a=1, b=2), f(a=1)], [[f(a=1, b=2)], [f(a=7, b=2)]]
    # S = ((1, 0.83333), (0.75, 0.5)): greedy 1 + 0.5, best 0.83333 + 0.75
    assert turns(made, gold, released=True) == pytest.approx([1, 0.5])
    assert turns(made, gold) == pytest.approx([5 / 6, 0.75])


@pytest.mark.parametrize("seed", range(6))
def test_the_hard_assignment_has_the_largest_sum(seed):
    rng = random.Random(seed)

    def draw():
        return ToolCall(rng.choice("fg"), {k: rng.randrange(2) for k in rng.sample("abc", rng.randrange(4))})

    made, gold = [draw() for _ in range(rng.randrange(1, 5))], [draw() for _ in range(rng.randrange(1, 4))]
    similar = [[turns([[p]], [g])[0] for g in gold] for p in made]
    size = max(len(made), len(gold))
    best = max(
        sum(similar[p][g] for p, g in enumerate(order) if p < len(made) and g < len(gold))
        for order in itertools.permutations(range(size))
    )
    assert sum(turns([[one] for one in made], gold)) == pytest.approx(best)


def test_a_turn_earns_the_mean_of_its_calls_or_the_f1_of_its_answer():
    """The mean over the calls of a turn; a malformed call resembles nothing; the turn that answers gets its F1."""
    knobs = {"answered": lambda turn: bool(turn.parsed.text)}
    calls, texts = [[G, ToolCall("h", {})], [], []], ["", "", "Paris, the Paris of France"]
    assert turns(calls, [G], texts=texts, **knobs) == pytest.approx([0.5, 0, 2 / 4])  # paris, of, france
    assert turns(calls, [G], texts=texts) == [0.5, 0, 0]
    assert turns([[G]], [G], errors=[["not JSON"]], penalty=-0.5) == [0.25]
    assert turns([[G], [G]], [G], penalty=-0.5) == [1, -0.5]
    assert turns([[G]], [], penalty=-0.5) == [-0.5]
    assert turns([[G], []], [], assign="soft") == [0, 0]
    assert turns([[], []], [G]) == turns([[], []], [G], assign="soft") == [0, 0]
    with pytest.raises(TaskError, match="answer"):
        turns([[]], [G], texts=["Rome"], answer=None, **knobs)


def test_trajectory_and_turn_advantages_equal_the_worked_example():
    rewards = [[0.75, 1, 0.5], [0, 0, 1]]
    group = make_group(layouts=["Utp tTt p tTt p"] * 2)
    turn = turn_norm(norm="index", gamma=0.9, order="sum_first", lone="reward")
    credit = total({"trajectory": (0.5, group_norm()), "turn": (0.5, turn)})
    said = credit(group, make_scores([0, 0], turns=rewards))
    found = [row[one.sequences[0].mask] for one, (row,) in zip(group, said.tokens)]
    np.testing.assert_allclose(found, [[0.7071, 0.7071, 0], [-0.7071, -0.7071, 0]], atol=1e-4)


def test_assigned_calls_refuses_bad_arguments(monkeypatch):
    for wrong in ({"assign": "both"}, {"assign": "soft", "regularisation": 0}, {"assign": "soft", "released": True}):
        with pytest.raises(InputError, match="takes assign hard or soft"):
            assigned_calls(**wrong)
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "ot":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"handaxe\[transport\]"):
        assigned_calls(assign="soft")
