from math import isnan
from xml.etree import ElementTree

import pytest

from handaxe.core.errors import InputError
from handaxe.core.metrics import TaskResult
from handaxe.evaluation.comparison import compare
from handaxe.evaluation.evaluation_result import Evaluation


def evaluation(corrects, *, scored=4, calls=1.0, ids=None, ks=(1,)):
    ids = ids or [str(i) for i in range(len(corrects))]
    tasks = tuple(
        TaskResult(i, 4, scored, c, c / 4, calls, 2.0, 0.0, 0.0, {"completed": 4}) for i, c in zip(ids, corrects)
    )
    return Evaluation(tasks, {}, {}, {}, {}, {"ks": list(ks)})


HARD = [0, 1, 2, 3] * 5
EASIER = [c + 1 for c in HARD]


def test_pairs_resolve_a_small_difference():
    found = compare(evaluation(HARD), evaluation(EASIER)).differences["pass@1"]
    assert (found.before, found.after, found.tasks) == (0.375, 0.625, 20)
    assert found.difference == pytest.approx(0.25)
    assert (found.low, found.high) == pytest.approx((0.25, 0.25))
    assert found.verdict == "higher"


def test_verdicts_follow_the_interval():
    assert compare(evaluation(EASIER), evaluation(HARD)).differences["pass@1"].verdict == "lower"
    mixed = [c + (1 if i % 2 else -1) for i, c in enumerate([2] * 20)]
    assert compare(evaluation([2] * 20), evaluation(mixed)).differences["pass@1"].verdict == "no clear difference"
    same = compare(evaluation(HARD), evaluation(HARD)).differences
    assert {one.verdict for one in same.values()} == {"no clear difference"}


def test_tasks_are_paired_by_id():
    ids = [str(i) for i in range(20)]
    found = compare(evaluation(HARD, ids=ids), evaluation(EASIER[::-1], ids=ids[::-1])).differences["pass@1"]
    assert (found.low, found.high) == pytest.approx((0.25, 0.25))


def test_ratios_are_compared():
    found = compare(evaluation(HARD, calls=3.0), evaluation(HARD, calls=1.0)).differences
    assert found["calls"].difference == -2.0 and found["calls"].verdict == "lower"
    assert found["tool_productivity"].difference == pytest.approx(0.375 - 0.125)
    assert found["tool_productivity"].verdict == "higher"


def test_a_task_unmeasured_on_one_side_is_left_out():
    after = evaluation(EASIER)
    broken = TaskResult("0", 4, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, {"infra_error": 4})
    after = Evaluation((broken, *after.tasks[1:]), {}, {}, {}, {}, after.settings)
    found = compare(evaluation(HARD), after).differences["pass@1"]
    assert found.tasks == 19
    assert found.difference == pytest.approx(0.25)


def test_only_shared_ks_are_compared():
    found = compare(evaluation(HARD, ks=(1, 2, 4)), evaluation(HARD, ks=(1, 4))).differences
    assert "pass@4" in found and "pass@2" not in found


def test_without_shared_tasks_there_is_no_clear_difference():
    found = compare(evaluation([0, 0], scored=0), evaluation([1, 1])).differences["pass@1"]
    assert isnan(found.difference) and found.tasks == 0 and found.verdict == "no clear difference"


def test_one_task_gives_no_clear_difference():
    assert compare(evaluation([0]), evaluation([4])).differences["pass@1"].verdict == "no clear difference"


def test_other_tasks_are_an_error():
    with pytest.raises(InputError, match="'1'"):
        compare(evaluation([0], ids=["0"]), evaluation([0, 1], ids=["0", "1"]))


def test_to_text_is_one_sentence_a_metric():
    text = compare(evaluation(HARD), evaluation(EASIER)).to_text()
    assert "pass@1: 0.375 -> 0.625, difference +0.25 [+0.25, +0.25] over 20 tasks: higher" in text.splitlines()


def test_a_notebook_shows_a_row_a_metric():
    found = compare(evaluation([0, 1, 2, 1]), evaluation([4, 4, 4, 4]))
    table = ElementTree.fromstring(found._repr_html_())
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.find("tbody")}
    assert list(rows) == list(found.differences)
    assert rows["pass@1"][:3] == ["0.25", "1", "+0.75"] and rows["pass@1"][-2:] == ["4", "higher"]
