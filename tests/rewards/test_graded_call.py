import random
from itertools import permutations

import pytest

from handaxe import rewards
from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.reasoning_sql.tags_in_order import tags_in_order
from handaxe.papers.toolrl.thought_length import thought_length
from handaxe.rewards.graded_call import graded_call
from handaxe.rewards.parts.schedules import ramp, two_stage
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.calls import calls

REFERENCE = {
    "state": {"balance": 5},
    "calls": [{"name": "f", "arguments": {"x": 1, "y": 2}}, {"name": "g", "arguments": {}}],
}


CONTRACT = [{}, {"rel_tol": 0.1}]
LAB = [
    LabCase("graded_call(...)", calls, lambda world: graded_call(gold=world.need("reference"))),
    LabCase(
        'graded_call(grade="coarse")', calls, lambda world: graded_call(gold=world.need("reference"), grade="coarse")
    ),
]


def call(name, **arguments):
    return ToolCall(name, arguments)


def group_of(wanted, *made, text="", step=0):
    task = make_task(answer=list(wanted))
    return make_group(trajectories=[make_trajectory(texts=[text], calls=[m], task=task) for m in made], step=step)


def outcome(reward, wanted, *made):
    return reward(group_of(wanted, *made)).outcome.tolist()


WANTED = [call("A", x=1, y=2)]


def test_graded_call_matches_the_docstring_example():
    made = [[call("A", x=1, z=9)], [call("A", x=1, y=2)], [], [call("B", x=1, y=2)]]
    assert outcome(graded_call(), WANTED, *made) == [pytest.approx(0.5), 3, -3, -3]


def test_with_format_it_equals_the_papers_reward():
    total = rewards.weighted(
        {"format": (1.0, tags_in_order(tags=("think", "tool_call"))), "call": (1.0, graded_call())}
    )
    group = group_of(WANTED, [call("A", x=1, z=9)], [call("A", x=1, y=2)], text="<think>so</think>")
    assert total(group).outcome.tolist() == [pytest.approx(1.5), 4]


def shares(wanted, *made, **options):
    channels = graded_call(**options)(group_of(wanted, *made)).channels
    return list(zip(*(channels[name].tolist() for name in ("names", "keys", "values"))))


def test_channels_hold_matched_shares():
    made = [[call("A", x=1, z=9)], WANTED, [], [call("B", x=1, y=2)]]
    assert shares(WANTED, *made) == [(1, pytest.approx(1 / 3), 0.5), (1, 1, 1), (0, 0, 0), (0, 0, 0)]
    for grade in ("refined", "intermediate", "coarse"):
        assert shares(WANTED, *made, grade=grade) == shares(WANTED, *made)
    both = [call("A", x=1), call("B", y=2, z=3)]
    assert shares(both, both[::-1], [call("A", x=1)], [*both, call("C")]) == [
        (1, 1, 1),
        (0.5, 0.5, pytest.approx(1 / 3)),
        (pytest.approx(2 / 3), 1, 1),
    ]
    assert shares([], [], [call("A")]) == [(1, 1, 1), (0, 0, 0)]
    assert shares([call("A")], [call("A")], [call("A", x=1)], [call("B")]) == [(1, 1, 1), (1, 0, 1), (0, 0, 0)]
    broken = make_trajectory(texts=[""], calls=[WANTED], errors=[["not JSON"]], task=make_task(answer=WANTED))
    assert {
        name: value.tolist() for name, value in graded_call()(make_group(trajectories=[broken])).channels.items()
    } == {"names": [0], "keys": [0], "values": [0]}


def test_numbers_within_the_tolerance_are_equal():
    wanted = [call("A", x=100, y="100", z=True)]
    near = [call("A", x=101.0, y="100", z=True)]
    off = [call("A", x=102, y="101", z=1.01)]
    assert outcome(graded_call(rel_tol=0.01), wanted, near)[0] == 3
    assert outcome(graded_call(), wanted, near)[0] < 3
    assert shares(wanted, near, off, rel_tol=0.01) == [(1, 1, 1), (1, 1, 0)]
    assert shares([call("A", x=-100)], [call("A", x=-101)], [call("A", x=-99)], rel_tol=0.01) == [(1, 1, 1)] * 2
    huge = [call("A", x=10**400)]
    for gold in ([call("A", x=1.5)], [call("A", x=-(10**400))]):
        assert shares(gold, huge, rel_tol=0.01) == [(1, 1, 0)]
    assert outcome(graded_call(rel_tol=0.01), huge, huge) == [3]
    with pytest.raises(InputError, match="0 or more"):
        graded_call(rel_tol=-0.1)


def test_grades_by_hand():
    near = [call("A", x=1, z=9)]
    both = [call("A", x=1), call("B", y=2)]
    assert outcome(graded_call(scale=1.0), WANTED, near, WANTED) == [pytest.approx(0.5 / 3), 1]
    # refined: names 1, keys 0, values 1 of S_max 4
    assert outcome(graded_call(grade="refined"), WANTED, near) == [pytest.approx(6 * 2 / 4 - 3)]
    # intermediate: names 1/2, one of two calls equal, S_max 3
    assert outcome(graded_call(grade="intermediate"), both, [call("A", x=1)]) == [pytest.approx(6 * 1.5 / 3 - 3)]
    assert outcome(graded_call(grade="intermediate"), WANTED, near) == [pytest.approx(6 * 1 / 2 - 3)]
    assert outcome(graded_call(grade="coarse"), both, both, both[::-1]) == [3, -3]


def test_finer_grades_distinguish_more_rollouts():
    made = [
        [],
        [call("B", x=1, y=2)],
        [call("A", z=1)],
        [call("A", x=9)],
        [call("A", x=9, y=9)],
        [call("A", x=1, y=9)],
        WANTED,
    ]
    apart = {g: len(set(outcome(graded_call(grade=g), WANTED, *made))) for g in ("fine", "intermediate", "coarse")}
    assert apart == {"fine": 6, "intermediate": 3, "coarse": 2}


def test_the_order_of_calls_costs_the_exact_match_only():
    both = [call("A", x=1), call("B", y=2)]
    assert outcome(graded_call(), both, both[::-1]) == [3]  # names 1, both calls in full: score is S_max


def test_tasks_without_calls_and_malformed_calls():
    assert outcome(graded_call(), [], [], [call("A")]) == [0, 0]
    task = make_task(answer=WANTED)
    broken = make_trajectory(texts=["", ""], calls=[WANTED, []], errors=[[], ["not JSON"]], task=task)
    assert graded_call()(make_group(trajectories=[broken])).outcome.tolist() == [-3]
    with pytest.raises(TaskError):
        graded_call()(make_group(trajectories=[make_trajectory()]))


def test_schedules_equal_the_papers():
    form = tags_in_order(tags=("think", "tool_call"))
    staged = rewards.weighted(
        {
            "format": (two_stage(1.0, 0.5, at=30), form),
            "call": (two_stage(1 / 3, 1.0, at=30), graded_call()),
        }
    )
    smooth = rewards.weighted(
        {
            "format": (ramp(2, 1, steps=150), form),
            "call": (ramp(2 / 3, 1, steps=150), graded_call()),
            "thought": (1.0, thought_length(target=4)),
        }
    )

    def at(reward, step):
        made = [WANTED, [call("B")]]
        return reward(group_of(WANTED, *made, text="<think>a b</think>", step=step)).outcome.tolist()

    assert at(staged, 29) == pytest.approx([1 + 1, 1 - 1])
    assert at(staged, 30) == pytest.approx([0.5 + 3, 0.5 - 3])
    assert at(smooth, 0) == pytest.approx([2 + 2 + 0.5, 2 - 2 + 0.5])
    assert at(smooth, 75) == pytest.approx([1.5 + 2.5 + 0.5, 1.5 - 2.5 + 0.5])
    assert at(smooth, 150) == pytest.approx([1 + 3 + 0.5, 1 - 3 + 0.5])


def slow_match(a, b):
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    left, shared = list(b), 0
    for item in a:
        if item in left:
            left.remove(item)
            shared += 1
    return shared / (len(a) + len(b) - shared)


def slow_score(wanted, made):
    """The formula, call by call; greedy in the order of the reference calls."""
    score = slow_match([g.name for g in wanted], [p.name for p in made])
    used = set()
    for g in wanted:
        best, which = 0.0, None
        for k, p in enumerate(made):
            if k not in used and p.name == g.name:
                s = slow_match(list(g.arguments), list(p.arguments))
                for key in g.arguments:
                    s += key in p.arguments and p.arguments[key] == g.arguments[key]
                if s > best:
                    best, which = s, k
        if which is not None:
            used.add(which)
            score += best
    return score


def draw_calls(draw, most):
    made = []
    for _ in range(draw.randint(1, most)):
        keys = draw.sample("xyz", draw.randint(0, 3))
        made.append(ToolCall(draw.choice("AB"), {key: draw.randint(0, 1) for key in keys}))
    return made


def test_graded_call_equals_a_slow_loop_and_bounds_the_assignment():
    draw, below = random.Random(1), 0
    for _ in range(300):
        wanted, made = draw_calls(draw, 3), draw_calls(draw, 3)
        most = 1 + sum(1 + len(g.arguments) for g in wanted)
        greedy = 6 * slow_score(wanted, made) / most - 3
        plain = [[(c.name, c.arguments) for c in calls] for calls in (wanted, made)]
        (given,) = outcome(graded_call(), wanted, made)
        assert given == pytest.approx(3 if plain[0] == plain[1] else greedy)
        best = max(slow_score(list(order), made) for order in permutations(wanted))
        assert given <= max(3 if plain[0] == plain[1] else -3, 6 * best / most - 3) + 1e-9
        below += slow_score(wanted, made) < best - 1e-9
    assert below > 0  # the greedy order is not always the best, and the paper's is the greedy one
