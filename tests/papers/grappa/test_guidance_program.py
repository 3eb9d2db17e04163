import pytest

from handaxe.core.errors import InputError
from handaxe.papers.grappa.guidance_program import EXAMPLE_STATE, score_states, write_plan

GOAL = {"goal": {"at": [3, 2], "state": ""}}


def state(**changes):
    return {"agent": [1, 1], "facing": 0, "free": 1, "holds": "", "objects": {}, **changes}


def slow(plan, one):
    """The rule of `write_plan`, step by step."""
    total = 0.0
    ahead = ((1, 0), (0, 1), (-1, 0), (0, -1))[one["facing"]]
    for name in plan:
        thing = one["objects"].get(name)
        done = one["holds"] == "key" if name == "key" else thing and thing["state"] == "open" and name == "door"
        if done:
            total += 30
            continue
        if thing is None:
            return total
        x, y = (there - here for there, here in zip(thing["at"], one["agent"], strict=True))
        return total - 2 * (abs(x) + abs(y)) + (x * ahead[0] + y * ahead[1] > 0)
    return total


def test_write_plan_matches_its_example():
    assert score_states(write_plan(["goal"]), [state(objects=GOAL)]) == ((-5.0,), "")


def test_a_plan_equals_a_slow_loop():
    plan = ["key", "door", "goal"]
    states = [
        state(facing=facing, holds=holds, objects=objects)
        for facing in range(4)
        for holds in ("", "key")
        for objects in (
            {},
            GOAL,
            dict(EXAMPLE_STATE["objects"]),
            {**GOAL, "door": {"at": [2, 1], "state": "open"}},
            {**GOAL, "door": {"at": [0, 1], "state": "closed"}},
        )
    ]
    found = score_states(write_plan(plan), states)
    assert found.scores == tuple(slow(plan, one) for one in states) and len(set(found.scores)) > 8


@pytest.mark.parametrize(
    "program, error",
    [
        ("def guidance(state): return 'far'", "guidance returns far, no number"),
        ("def guidance(state): return True", "no number"),
        ("def guidance(state): return 1e9", "give -1e6 to 1e6"),
        ("def guidance(state): return -(10**400)", "give -1e6 to 1e6"),
        ("def guidance(state): return state['no']", "KeyError"),
        ("def guide(state): return 0", "guidance"),
        ("def guidance(state) return 0", ""),
        ("def guidance(state):\n    while True: pass", ""),
    ],
)
def test_a_failing_program_gives_its_error(program, error):
    found = score_states(program, [state()], seconds=1.0)
    assert found.scores == () and found.error and error in found.error


def test_a_program_cannot_change_the_states():
    own = state(objects=dict(GOAL))
    source = "def guidance(state):\n    state['agent'] = [9, 9]\n    return 1"
    assert score_states(source, [own, own]) == ((1.0, 1.0), "") and own["agent"] == [1, 1]


@pytest.mark.parametrize("plan", [[], ["ball"], ["goal", "x"]])
def test_another_plan_is_rejected(plan):
    with pytest.raises(InputError, match="a plan has names of key, door and goal"):
        write_plan(plan)
