import json
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ToolCall, ToolReply
from handaxe.curricula.tip_pool import Tip, shared_words, task_tips, tell_calls, tip_pool
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory


def asked(words):
    return replace(make_task(id=words), messages=(Message("user", words),))


def tried(words, *queries, status="ok"):
    calls = [[ToolCall("search", {"query": query}, f"c{k}")] for k, query in enumerate(queries)]
    replies = [[ToolReply(f"c{k}", "search", "found", status)] for k in range(len(queries))]
    return make_trajectory(calls=[*calls, []], replies=[*replies, []], task=asked(words))


def came_of(words, *attempts):
    """Attempts as (reward, queries)."""
    made = [replace(tried(words, *queries), id=f"{words}/{k}") for k, (_, queries) in enumerate(attempts)]
    group = make_group(trajectories=made, task=asked(words))
    return make_rated(group=group, scores=make_scores([reward for reward, _ in attempts]))


def test_tip_pool_matches_the_docstring_example():
    made = tip_pool()
    made.observe([came_of("4071 boss ally?", (0.0, ()), (1.0, ("4071 boss", "5526 ally")))])
    text = "In '4071 boss ally?': It calls search(query='4071 boss'), search(query='5526 ally')."
    assert made.tips == [Tip("4071 boss ally?", text)]
    assert shared_words("4071 boss ally?", "4071 boss idol?") == 2 / 4 and shared_words("?", "!") == 0
    tasks = made.curriculum([asked("4071 boss idol?"), asked("9000 heir?")], 0)
    told = {task.id: [one.text for one in task_tips(task)] for task in tasks.next(0, 2)}
    assert told == {"4071 boss idol?": [text], "9000 heir?": []}


def test_tips_are_added_to_a_copy_of_the_task():
    made = tip_pool()
    plain = asked("a b?")
    tasks = made.curriculum([plain], 0)
    assert tasks.next(0, 1) == [plain]
    tasks.observe([came_of("a c?", (1.0, ("a",)))])
    (told,) = tasks.next(1, 1)
    assert told == replace(plain, metadata=told.metadata) and task_tips(told) and task_tips(plain) == []
    json.dumps(told.metadata)


def test_failures_give_tips_and_unscored_rollouts_none():
    assert tell_calls(tried("2*7=?"), False) == "In '2*7=?': Use a tool."
    assert tell_calls(tried("2*7=?", "2*7"), False) == "In '2*7=?': Answer with what the tool says."
    assert tell_calls(tried("2*7=?"), True) == "" == tell_calls(tried("2*7=?", "x", status="error"), True)
    made = tip_pool()
    made.observe([came_of("a?", (np.nan, ("a",)), (np.nan, ("b",)))])
    assert made.tips == []
    made.observe([came_of("a?", (np.nan, ("a",)), (0.4, ("b",)))])
    assert [one.text for one in made.tips] == ["In 'a?': Answer with what the tool says."]


def test_a_tip_is_one_line_of_bounded_length():
    made = tip_pool(longest=30, tell=lambda one, right: "Hints:\n\n  do\tthis " + "x" * 99)
    made.observe([came_of("a?", (1.0, ("a",)))])
    assert made.tips[0].text == "Hints: do this " + "x" * 15


def test_tip_pool_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    made, kept = tip_pool(top=2, most=5, tell=lambda one, right: f"tip of {one.id}"), []
    words = [f"{a} {b}?" for a in "abc" for b in "defg"]
    for step in range(12):
        seen = []
        for name in rng.choice(words, 3, replace=False):
            rewards = rng.integers(0, 3, 4) / 2
            seen.append(came_of(name, *[(float(reward), ()) for reward in rewards]))
            best = max(range(4), key=lambda k: (rewards[k], -k))
            tip = (str(name), f"tip of {name}/0/{best}")
            kept = [one for one in kept if one != tip] + [tip]
        made.observe(seen)
        kept = kept[-5:]
        assert [tuple(one) for one in made.tips] == kept
        for name in words:
            like = []
            for place, (other, text) in enumerate(kept):
                mine, theirs = set(name[:-1].split()), set(other[:-1].split())
                if mine & theirs:
                    like.append((len(mine & theirs) / len(mine | theirs), place, text))
            assert [one.text for one in made.recall(asked(name))] == [text for *_, text in sorted(like)[::-1][:2]]


def test_state_restores_tips_and_order():
    tasks = [asked(f"{a} {b}?") for a in "abc" for b in "def"]
    first, second = (tip_pool().curriculum(tasks, 3) for _ in range(2))
    for step in range(3):
        first.next(step, 4)
        first.observe([came_of("a d?", (1.0, (str(step),))), came_of("b e?", (0.0, ("q",)))])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.state_dict() == first.state_dict()
    assert second.next(3, 9) == first.next(3, 9) and any(task_tips(task) for task in first.next(3, 9))
    first.tasks = tasks[:1]
    assert {task.id for task in first.next(4, 3)} == {"a d?"} and task_tips(first.next(4, 1)[0])


def test_options_below_one_are_errors():
    for options in ({"top": 0}, {"most": 0}, {"longest": 0}):
        with pytest.raises(InputError, match="1 or more of each"):
            tip_pool(**options)
