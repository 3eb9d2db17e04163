import itertools

from handaxe.core.records import ToolCall, ToolReply
from handaxe.papers.tgrl.signed_format import signed_format
from handaxe.testing.records import make_group, make_task, make_trajectory


def attempt(*turns, errors=None, finish=None):
    """Each turn the (tool, status) pairs of its calls."""
    calls = [[ToolCall(name, {}) for name, _ in turn] for turn in turns]
    replies = [
        [ToolReply(f"{n}-{k}", name, "", status) for k, (name, status) in enumerate(t)] for n, t in enumerate(turns)
    ]
    return make_trajectory(calls=calls, replies=replies, errors=errors, finish=finish)


def scored(*attempts, **options):
    return signed_format(**options)(make_group(trajectories=attempts)).outcome.tolist()


LOOK, ANSWER = ("calculator", "ok"), ("answer", "ok")
SIBLINGS = make_group(task=make_task(answer="4"), trajectories=[attempt([LOOK], [ANSWER]), attempt([LOOK], [])])


def test_example():
    broken = attempt([], [ANSWER], errors=[["not JSON"], []])
    assert scored(attempt([LOOK], [ANSWER]), attempt([LOOK], []), broken) == [1, 0, -1]


def test_a_slow_loop_says_the_same():
    kinds = ("ok", "retry", "invalid", None)
    for look, taken, error, finish in itertools.product(kinds, kinds, ([], ["not JSON"]), ("stop", "length")):
        if finish == "length" and taken:
            continue  # what is cut is not carried out
        turns = [[("calculator", look)] if look else [], [("answer", taken)] if taken else []]
        found = scored(attempt(*turns, errors=[[], error], finish=["stop", finish]))
        if "invalid" in (look, taken) or error or finish == "length":
            assert found == [-1]
        else:
            assert found == [1 if taken == "ok" else 0]


def test_another_tool_and_no_turn():
    assert scored(attempt([("submit", "ok")]), attempt([ANSWER]), tool="submit") == [1, 0]
    assert scored(make_trajectory(layouts=["UUt"])) == [-1]
