import itertools

from handaxe.core.records import ToolCall, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.tgrl.signed_format import signed_format
from handaxe.papers.tgrl.unseen_gym import unseen_gym
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = [
    LabCase("signed_format()", unseen_gym, lambda world: signed_format()),
]


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


def test_signed_format_equals_the_worked_examples():
    broken = attempt([], [ANSWER], errors=[["not JSON"], []])
    assert scored(attempt([LOOK], [ANSWER]), attempt([LOOK], []), broken) == [1, 0, -1]


def test_signed_format_equals_a_slow_loop():
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


def test_signed_format_takes_a_tool_name_and_scores_empty_trajectories():
    assert scored(attempt([("submit", "ok")]), attempt([ANSWER]), tool="submit") == [1, 0]
    assert scored(make_trajectory(layouts=["UUt"])) == [-1]
