"""Pairs of BFCL: labels by the rule, one error of each kind, controls at one half, and both forms of questions."""

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("bfcl_eval")

from handaxe.core.records import ToolCall
from handaxe.evaluation.bench_items import control_chances, labels_of
from handaxe.evaluation.bench_scores import ANSWERS, PAIRS, bench_figures
from handaxe.evaluation.bfcl_pairs import bfcl_pairs, call_text
from handaxe.evaluation.call_errors import KINDS
from handaxe.worlds.bfcl.matching import matches
from handaxe.worlds.bfcl.tasks import all_tasks, question_split

TERSE = SimpleNamespace(answerer=SimpleNamespace(terse=True))
LONG = SimpleNamespace(answerer=SimpleNamespace(terse=False))


@pytest.fixture(scope="module")
def items():
    return bfcl_pairs(split="test", count=60, seed=0)


def calls(item):
    return [one.ask(TERSE).fields["call"] for one in item.questions]


def read(text):

    name, _, rest = text.partition("(")
    return ToolCall(name, json.loads(rest[:-1]))


def test_a_task_has_a_right_call_and_one_of_each_error(items):
    for item in items:
        assert [one.kind for one in item.questions] == ["", *KINDS]
        assert labels_of(item).tolist() == [True] + [False] * 5
        assert len(set(calls(item))) == 6


def test_labels_are_by_the_rule_of_bfcl(items):
    known = {task.id: task for name in ("multiple", "live_multiple") for task in all_tasks(name)}
    for item in items:
        task = known[item.task]
        assert question_split(task) == "test"
        found = [matches([read(text)], task.answer, task.metadata["functions"]) for text in calls(item)]
        assert found == labels_of(item).tolist()


def test_errors_change_one_part(items):
    for item in items:
        right, function, name, value, missing, extra = map(read, calls(item))
        assert function.name != right.name and function.arguments == right.arguments
        assert {one.name for one in (name, value, missing, extra)} == {right.name}
        assert list(name.arguments.values()) == list(right.arguments.values())
        assert list(value.arguments) == list(right.arguments)
        assert sum(value.arguments[key] != right.arguments[key] for key in right.arguments) <= 2  # two are exchanged
        assert missing.arguments.items() < right.arguments.items() if _plain(right) else True
        assert len(extra.arguments) == len(right.arguments) + 1


def _plain(call):
    return all(not isinstance(one, list | dict) for one in call.arguments.values())


@pytest.mark.parametrize("pairs, form", [(False, ANSWERS), (True, PAIRS)])
def test_judges_that_see_no_text_are_at_one_half(pairs, form):
    items = bfcl_pairs(split="test", count=60, seed=1, pairs=pairs)
    labels = [labels_of(item) for item in items]
    for name, chances in control_chances(items).items():
        found = bench_figures(form, list(zip(chances, labels, strict=True)), resamples=2)["pair"].value
        assert abs(found - 0.5) <= 0.5 / (5 * len(items)) + 1e-12, name


def test_pairs_are_asked_in_both_orders():
    (item,) = bfcl_pairs(split="test", count=1, seed=0, pairs=True)
    fields = [one.ask(TERSE).fields for one in item.questions]
    assert labels_of(item).tolist() == [True, False] * 5
    assert [one.kind for one in item.questions] == [kind for kind in KINDS for _ in range(2)]
    for one, other in zip(fields[::2], fields[1::2]):
        assert (one["first"], one["second"]) == (other["second"], other["first"]) and one["first"] != one["second"]
    assert {one["first"] for one in fields[::2]} == {calls(bfcl_pairs(split="test", count=1, seed=0)[0])[0]}


def test_questions_show_the_functions_in_two_lengths(items):
    question = items[0].questions[0]
    short, long = question.ask(TERSE), question.ask(LONG)
    assert (short.prompt.name, long.prompt.name) == ("tool_call.terse@1", "tool_call@1")
    name = read(short.fields["call"]).name
    assert f"{name}(" in short.fields["functions"] and f'"name": "{name}", "description"' in long.fields["functions"]
    assert call_text(ToolCall("area", {"base": 10})) == 'area({"base": 10})'


def test_splits_share_no_task_and_the_seed_orders(items):
    assert not {one.task for one in bfcl_pairs(split="train", count=30, seed=0)} & {one.task for one in items}
    assert [calls(one) for one in bfcl_pairs(split="test", count=5, seed=0)] == [calls(one) for one in items[:5]]
    assert [one.task for one in bfcl_pairs(split="test", count=5, seed=1)] != [one.task for one in items[:5]]
