"""The table of metatool by hand, and the rule of selection on real questions."""

import pytest

from handaxe.core.metrics import TaskResult
from handaxe.core.records import Group, ToolCall
from handaxe.evaluation.benchmarks.benchmark import PartResult
from handaxe.evaluation.benchmarks.metatool import awareness, metatool, metatool_table, selection_world
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.make_records import make_trajectory


def part(*outcomes):
    """Outcomes are (called, correct), or None for a task without a score."""
    made = [
        TaskResult(str(n), 1, int(one is not None), int(bool(one and one[1])), 0.0, 0.0, 0.0, 0.0, 0.0, {}, {}, gauges)
        for n, one in enumerate(outcomes)
        for gauges in [{} if one is None else {"called": (float(one[0]), 1.0)}]
    ]
    return PartResult(tuple(made), len(made), 0)


BY_HAND = {
    "similar": part((1, 1), (1, 0), (0, 0), None),
    "reliability": part((0, 1), (0, 1), (0, 1), (0, 1), (1, 0)),
    "multi-tool": part((1, 0), (0, 0)),
}


def test_decision_to_call_by_hand():
    """TP = 3, FP = 1, FN = 2, TN = 4: accuracy 0.7, precision 0.75, recall 0.6, F1 6 / 9."""
    assert awareness(BY_HAND) == pytest.approx((0.7, 0.75, 0.6, 2 / 3), abs=1e-12)
    table = metatool_table(BY_HAND)
    found = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert found["csr, similar"]["value"] == pytest.approx(1 / 3, abs=1e-12)
    assert (found["csr, similar"]["scored"], found["csr, similar"]["tasks"]) == (3, 4)
    assert found["csr, reliability"]["value"] == 0.8 and found["csr, multi-tool"]["value"] == 0
    assert found["call needed, F1"]["value"] == pytest.approx(2 / 3, abs=1e-12)
    assert found["call needed, F1"]["scored"] == 10
    assert table.notes[0].startswith("Tasks of this library in the form of MetaTool")


def test_decision_equals_a_slow_loop():
    asked = [(1, 1), (1, 1), (0, 1), None, (1, 1), (0, 1), (0, 0), (0, 0), (0, 0), (0, 0), (1, 0)]
    pairs = [pair for pair in asked if pair is not None]
    tp = fp = fn = 0
    for called, needed in pairs:
        tp += called and needed
        fp += called and not needed
        fn += needed and not called
    precision = tp / (tp + fp)
    recall = tp / (tp + fn)
    slow = 2 * precision * recall / (precision + recall)
    assert awareness(BY_HAND)[3] == pytest.approx(slow, abs=1e-12)


def test_figures_without_a_scored_task_are_undefined():
    empty = {"similar": part(None), "reliability": part(None), "multi-tool": part(None)}
    assert awareness(empty) == (None, None, None, None)
    assert all(row[1] is None for row in metatool_table(empty).rows)


def test_set_of_called_functions_decides():
    pytest.importorskip("bfcl_eval")

    def score(task, calls, errors=(), finish="stop"):
        made = [ToolCall(name, {}) for name in calls]
        one = make_trajectory(calls=[made], errors=[errors], finish=[finish], task=task)
        return score_group(selection_world(("irrelevance",)).correct, Group(task, (one,)))[1].outcome[0]

    task = selection_world(("parallel_multiple",)).tasks("test", 1, 0)[0]
    names = [call["name"] for call in task.metadata["gold"]]
    assert len(set(names)) > 1
    assert score(task, names) == score(task, [*names[::-1], names[0]]) == 1
    assert score(task, names[:1]) == score(task, [*names, "other"]) == score(task, []) == 0
    useless = selection_world(("irrelevance",)).tasks("test", 1, 0)[0]
    assert score(useless, []) == 1 and score(useless, ["other"]) == 0
    assert score(useless, [], errors=["no JSON"]) == 1 and score(useless, [], finish="length") == 0


def test_settings_are_fixed():
    made = metatool()
    assert [one.name for one in made.parts] == ["similar", "reliability", "multi-tool"]
    assert (made.trials, made.temperature, made.max_turns) == (1, 0.0, 1)
