import json
from dataclasses import replace
from math import inf, nan
from xml.etree import ElementTree

import pytest

from handaxe.core.errors import InputError
from handaxe.core.metrics import TaskResult
from handaxe.evaluation.estimates import Estimate
from handaxe.evaluation.evaluation_result import Evaluation


def build():
    task = TaskResult("t", 2, 1, 1, 1.0, 0.0, 3.0, 0.5, 0.0, {"completed": 1, "infra_error": 1}, {"difficulty": 2})
    metrics = {"pass@1": Estimate(1.0, 0.2, 1.0, 1), "tool_productivity": Estimate(inf, -inf, inf, 1)}
    return Evaluation(
        tasks=(task,),
        metrics=metrics,
        endings={"completed": Estimate(0.5, -inf, inf, 1), "infra_error": Estimate(0.5, -inf, inf, 1)},
        breakdown={"difficulty": {"2": metrics}},
        excluded={"infra_error": 1, "verifier_error": 0},
        settings={"samples": 2},
    )


def test_json_has_null_for_infinite_numbers():
    body = json.loads(build().to_json())
    assert body["metrics"]["pass@1"] == {"value": 1.0, "low": 0.2, "high": 1.0, "tasks": 1}
    assert body["metrics"]["tool_productivity"] == {"value": None, "low": None, "high": None, "tasks": 1}
    assert body["tasks"][0]["metadata"] == {"difficulty": 2}
    assert body["breakdown"]["difficulty"]["2"]["pass@1"]["low"] == 0.2


def test_from_json_inverts_to_json():
    back = Evaluation.from_json(build().to_json())
    assert back.tasks == build().tasks
    assert back.metrics["pass@1"] == Estimate(1.0, 0.2, 1.0, 1)
    assert back.metrics["tool_productivity"][1:] == (-inf, inf, 1)
    assert back.breakdown["difficulty"]["2"]["pass@1"] == Estimate(1.0, 0.2, 1.0, 1)
    assert (back.excluded, back.settings) == (build().excluded, build().settings)
    assert back.to_json() == build().to_json()


def test_flat_names_metrics_endings_and_exclusions():
    flat = build().flat()
    assert flat["pass@1"] == 1.0 and flat["endings/infra_error"] == 0.5 and flat["excluded/infra_error"] == 1.0
    assert all(isinstance(number, float) for number in flat.values())
    assert nan not in flat.values()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1}', "1"])
def test_other_text_is_an_error(text):
    with pytest.raises(InputError):
        Evaluation.from_json(text)


def test_a_notebook_shows_escaped_metrics_breakdown_and_endings():
    hostile, one = "<img src=x onerror=go()>", Estimate(0.5, 0.25, inf, 2)
    found = replace(build(), metrics={"pass@1": one, hostile: one}, breakdown={"kind": {hostile: {"pass@1": one}}})
    table = ElementTree.fromstring(found._repr_html_())
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.find("tbody")}
    assert rows["pass@1"] == ["0.5", "[0.25, inf]", "2"] and table.find(".//img") is None
    assert {hostile, f"pass@1, kind {hostile}", *(f"endings/{name}" for name in found.endings)} <= rows.keys()
