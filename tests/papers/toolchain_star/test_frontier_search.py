import itertools
import random
from collections import Counter

import pytest
from helpers.written_pad import Pad

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Group, Message, ParsedTurn, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt, Sample, Stopped
from handaxe.core.validation import check_group
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import EnvWrapper
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.turn_tree import total_usage
from handaxe.papers.toolchain_star.frontier_search import ANSWER, frontier_search, step_calls
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.testing.scripted_engine import ScriptedEngine

LETTERS = "abc"
DEEP = 2
"""Calls of a path before all its candidates are answers."""


class Watched(EnvWrapper):
    """A pad that notes its turns, and how many pads are open."""

    executed, opened = [], 0

    def __init__(self, env):
        super().__init__(env)
        Watched.opened += 1

    def step(self, turn, *, seed):
        Watched.executed.append(turn.calls[0].arguments["text"] if turn.calls else turn.text)
        return super().step(turn, seed=seed)

    def close(self):
        Watched.opened -= 1
        super().close()


def written(text):
    """Letters that the path has written, from its last tool message."""
    return tuple(text.rsplit("<TOOL>", 1)[-1].split("<END>")[0].split(",")) if "<TOOL>" in text else ()


def options(path):
    """Candidates after a path: two letters and an answer, or three answers in the end."""
    return ("yes", "no", "so") if len(path) == DEEP else ("a", "b", "early")


def path_of(step):
    words = []
    while step.parent is not None:
        words.append(step.parsed.calls[0].arguments["text"] if step.parsed.calls else step.parsed.text)
        step = step.parent
    return tuple(reversed(words))


def table(seed):
    """SearchStep costs of all paths."""
    rng = random.Random(seed)
    costs = {}
    paths = [()]
    while paths:
        path = paths.pop()
        for word in options(path):
            costs[*path, word] = rng.random()
            if word in LETTERS:
                paths.append((*path, word))
    return costs


def total(costs, path):
    return sum(costs[path[: n + 1]] for n in range(len(path)))


def attempt():
    pad, task = tool_chat([Pad]), Task("t", (Message("user", "go"),))
    return Attempt(task, lambda task: Watched(pad(task)), Compact(), Sampling(max_tokens=40), "t/0", 0, 0, 900)


def search(costs, future=None, say=None, **knobs):
    """A search whose n-th sample after a path is the n-th candidate of the path."""
    asked = Counter()

    def script(text, turn):
        path = written(text)
        word = options(path)[asked[path] % 3]
        asked[path] += 1
        return ToolCall("write", {"text": word}) if word in LETTERS else word

    def guide(step):
        path = path_of(step)
        return step.parent.cumulative + costs[path], 0.0 if future is None else future(path)
        yield

    Watched.executed, Watched.opened = [], 0
    engine = ScriptedEngine(Compact(), script, tools=[Pad().write.schema])

    def sample(name, request):
        if say is not None:
            say()
        return engine.sample([request])[0]

    plan = frontier_search(**{"guide": guide, "candidates": 3, "calls": 99, "max_turns": 6} | knobs)(attempt())
    found = run_plan(plan, sample=sample)
    check_group(Group(attempt().task, tuple(found)))
    assert Watched.opened == 0
    return found


def words(one):
    calls = [call.arguments["text"] for call in one.calls]
    return (*calls, one.final_text) if one.ending == Ending("completed") else tuple(calls)


def all_answers():
    """Paths that end in an answer, exhaustively."""
    paths = [()]
    while paths:
        path = paths.pop()
        for word in options(path):
            if word in LETTERS:
                paths.append((*path, word))
            else:
                yield (*path, word)


def slow_order(costs, order, calls, future, width):
    """Paths in the order in which they are executed: a list that is scanned."""
    left = calls
    frontier = []
    executed = []
    answers = 0
    frontier += [(word,) for word in options(())]
    while frontier and answers < (width or 1):

        def rank(path):
            first = {"best": 0, "depth": -len(path), "breadth": len(path)}[order]
            return first, total(costs, path) + future(path)

        path = sorted(frontier, key=rank)[0]  # stable: ties to the first
        frontier.remove(path)
        used = path[-1] in LETTERS
        if used > left or (width and sum(len(one) == len(path) for one in executed) >= width):
            continue
        left -= used
        executed.append(path)
        if used:
            frontier += [(*path, word) for word in options(path)]
        else:
            answers += 1
    return executed


def remaining(costs, path):
    """Least cost from a path to an answer."""
    if path and path[-1] not in LETTERS:
        return 0.0
    return min(total(costs, one) for one in all_answers() if one[: len(path)] == path) - total(costs, path)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [0.0, 0.9])
def test_astar_returns_the_path_of_an_exhaustive_search(seed, share):
    costs = table(seed)
    found = search(costs, lambda path: share * remaining(costs, path))
    best = min(all_answers(), key=lambda path: total(costs, path))
    assert words(found[0]) == best and [one.notes[ANSWER] for one in found].count(True) == 1
    plain = len(slow_order(costs, "best", 99, lambda path: 0.0, None))
    assert len(Watched.executed) <= plain


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("order", "width"), [("best", None), ("depth", None), ("breadth", None), ("breadth", 2)])
@pytest.mark.parametrize("calls", [0, 1, 3, 99])
def test_steps_are_executed_in_order_of_the_frontier(seed, order, width, calls):
    costs = table(seed)
    found = search(costs, order=order, width=width, calls=calls)
    expected = slow_order(costs, order, calls, lambda path: 0.0, width)
    assert Watched.executed == [path[-1] for path in expected]
    assert {words(one) for one in found if one.turns} == set(expected)
    if order == "best":
        f = [total(costs, path) for path in expected]
        assert f == sorted(f) or calls < 99


LATE = {path: 0.1 if path[-1] in LETTERS else 9.0 for path in table(0)}
"""Costs with which all six calls of the tree come before an answer."""


@pytest.mark.parametrize("calls", range(7))
def test_a_budget_of_calls_is_exact(calls):
    found = search(LATE, calls=calls)
    assert sum(word in LETTERS for word in Watched.executed) == calls
    assert total_usage(Group(found[0].task, tuple(found))).calls == calls
    assert found[0].notes[ANSWER]  # an answer needs no call


def test_forks_equal_replays_of_their_calls():
    found = search(LATE)
    assert len(found) > 3
    for one in found:
        pad = Pad()
        for reply, call in zip(one.replies, one.calls, strict=True):
            assert pad.write.run(call).content == reply.content


def test_duplicates_become_one_step_with_their_share():
    shares = {}

    def guide(step):
        shares[path_of(step)] = step.share
        return step.parent.cumulative, 0.0
        yield

    search({}, guide=guide, candidates=4, max_turns=1)
    assert shares == {("a",): 0.5, ("b",): 0.25, ("early",): 0.25}


def test_candidates_equal_the_turns_of_the_forks_that_execute_them(dice):
    def guide(step):
        drawn.append(step)
        return step.parent.cumulative - step.share, 0.0
        yield

    calls = 0
    for seed in range(30):
        drawn = []
        plan = frontier_search(guide=guide, candidates=4, calls=5, max_turns=4)(dice.attempt(seed))
        found = run_plan(plan, sample=dice.roll)
        check_group(Group(found[0].task, tuple(found)))
        for one in found:
            for k, turn in enumerate(one.turns):
                ids = one.sequences[turn.sequence].ids
                request = Sample(ids[: turn.start].tolist(), turn.sampling, turn.seed, frozenset(), turn=k)
                assert dice.roll("", request).ids == ids[turn.start : turn.stop].tolist()
        used = {(turn.seed, call.id) for one in found for turn in one.turns for call in turn.parsed.calls}
        assert len(used) <= 5
        calls += len(used)
    assert calls > 30


@pytest.mark.parametrize("when", range(0, 12, 2))
def test_a_stopped_search_closes_its_environments(when):
    count = itertools.count()

    def say():
        if next(count) >= when:
            raise Stopped

    found = search(table(1), say=say, order="breadth", width=9)
    assert len(Watched.executed) <= when
    assert all(one.ending == Ending("truncated", "stopped") for one in found if not one.notes[ANSWER] and one.calls)


def test_malformed_calls_count():
    call = ToolCall("write", {"text": "a"})
    assert (
        step_calls(ParsedTurn("", (call,), ("not closed",), "")) == 2 and step_calls(ParsedTurn("yes", (), (), "")) == 0
    )


@pytest.mark.parametrize(
    "knobs", [{"candidates": 0}, {"calls": -1}, {"order": "last"}, {"width": 2}, {"width": 0, "order": "breadth"}]
)
def test_bad_numbers_raise(knobs):
    with pytest.raises(InputError, match="give 1 candidate"):
        frontier_search(guide=lambda step: iter(()), **knobs)
