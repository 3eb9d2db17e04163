import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall, ToolReply
from handaxe.papers.geovista.alignment import alignment
from handaxe.papers.geovista.label_depth import label_depth
from handaxe.papers.geovista.query_leak import query_leak
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.per_turn import per_turn
from handaxe.rewards.weighted import weighted
from handaxe.testing.records import make_group, make_task, make_trajectory

TASK = make_task(answer="Lyon")
REFERENCE = "Lyon"
CONTRACT = [{"correct": exact_match()}, {"correct": exact_match(), "correct_above": 0.0}]


def attempt(said, *found, tool="search", status="ok", task=TASK):
    calls = [[ToolCall(tool, {"query": "x"}, f"c{k}")] for k in range(len(found))]
    replies = [[ToolReply(f"c{k}", tool, text, status)] for k, text in enumerate(found)]
    return make_trajectory(texts=[*[""] * len(found), said], calls=[*calls, []], replies=[*replies, []], task=task)


SIBLINGS = make_group(
    task=TASK, trajectories=[attempt("Lyon", "Lyon, 84, FR"), attempt("Nice", "Lyon, 84, FR"), attempt("Lyon")]
)


def scored(*attempts, **knobs):
    reward = alignment(correct=exact_match(), **knobs)
    return reward(make_group(task=attempts[0].task, trajectories=attempts))


def test_example():
    scores = scored(attempt("Lyon", "Lyon, 84, FR"), attempt("Nice", "Lyon, 84, FR"), attempt("Lyon", "Nice, 93, FR"))
    assert scores.outcome.tolist() == [1, -1, 0]
    assert scores.channels["found"].tolist() == [1, 1, 0] and scores.channels["correct"].tolist() == [1, 0, 1]


def test_a_slow_loop_says_the_same():
    said, replies = ("Lyon", "Nice", ""), ((), ("",), ("Nice",), ("nicest", "a LYON!"), ("Lyonnais",), ("Lyon", "Nice"))
    attempts = [attempt(text, *found) for text in said for found in replies]
    slow = []
    for text in said:
        for found in replies:
            there = any("lyon" in reply.lower().replace("!", "").split() for reply in found)
            slow.append((1 if text == "Lyon" else -1) if there else 0)
    assert scored(*attempts).outcome.tolist() == slow and {-1, 0, 1} == set(slow)


def test_only_good_replies_of_the_tools_named_count():
    assert scored(attempt("Nice", "Lyon", status="failed")).outcome.tolist() == [0]
    assert scored(attempt("Nice", "Lyon", tool="other")).outcome.tolist() == [0]
    assert scored(attempt("Nice", "Lyon", tool="other"), tools=("other",)).outcome.tolist() == [-1]


def test_beside_levels_and_leaks_as_in_the_variant():
    """The right state, the wrong city, which a search had found: 2 - 1."""
    found = attempt("rhone vienne", "Lyon")
    levels = label_depth(found=lambda one: ("france", "rhone", "vienne"), gold=lambda task: ("france", "rhone", "lyon"))
    parts = {"levels": (1.0, levels), "leaks": (1.0, query_leak()), "found": (1.0, alignment(correct=exact_match()))}
    assert weighted(parts)(make_group(task=TASK, trajectories=[found])).outcome.tolist() == [1]


def test_what_is_refused():
    with pytest.raises(InputError, match="names of tools"):
        alignment(correct=exact_match(), tools="search")
    with pytest.raises(InputError, match="per-turn"):
        turned = per_turn(lambda one: [1.0] * len(one.turns))
        alignment(correct=turned)(make_group(task=TASK, trajectories=[attempt("Lyon")]))
    with pytest.raises(TaskError, match="answer"):
        scored(attempt("x", "y", task=make_task(answer=None)))
