import json
import random

import pytest

from handaxe.papers.mnms.plan import PlanError, PlanNode, parse_plan, plan_as_code, plan_as_json, references

CODE = 'zoom(box="6 6 8 8");ocr(image=n0.image);calculator(expression=n1.price+n1.post)'
PLAN = [
    PlanNode("zoom", {"box": "6 6 8 8"}),
    PlanNode("ocr", {"image": "<node-0>.image"}),
    PlanNode("calculator", {"expression": "<node-1>.price+<node-1>.post"}),
]


def test_both_forms_of_a_plan_are_read_and_written():
    assert parse_plan(CODE) == parse_plan(CODE.replace(";", "\n")) == PLAN and plan_as_code(PLAN) == CODE
    rows = json.loads(plan_as_json(PLAN))
    assert rows[1] == {"id": 1, "name": "ocr", "args": {"image": "<node-0>.image"}}
    assert parse_plan(json.dumps(rows)) == PLAN


def test_forms_are_equivalent_for_random_plans():
    rng = random.Random(0)
    for _ in range(100):
        plan = []
        for number in range(rng.randrange(1, 5)):
            values = ["6 6 8 8", "a;b", f"<node-{max(0, number - 1)}>.text", "<node-0>.a+<node-1>.b"]
            args = {key: rng.choice(values) for key in rng.sample("xyz", rng.randrange(3))}
            plan.append(PlanNode(rng.choice(["zoom", "ocr"]), args))
        assert parse_plan(plan_as_code(plan)) == parse_plan(plan_as_json(plan)) == plan


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "the plan is empty"),
        ("zoom", "node 0 is no call"),
        ('zoom(box="1")ocr(', "node 0 is no call"),
        ('zoom(box="1");ocr', "node 1 is no call"),
        ('zoom("1")', "node 0 has a bad argument"),
        ('zoom(box="1") ocr(image=n0.image)', "node 0 has a bad argument"),
        ("[1]", "node 0 needs a name and args"),
        ('[{"name": "ocr"}]', "node 0 needs a name and args"),
        ('[{"id": 1, "name": "ocr", "args": {}}]', "node 0 has the id 1"),
        ("[", "the plan is not JSON"),
    ],
)
def test_a_text_that_is_no_plan_names_the_place(text, message):
    with pytest.raises(PlanError, match=f"parse: {message}"):
        parse_plan(text)


def test_references_of_an_argument():
    assert references("<node-1>.price+<node-12>.post") == [(1, "price"), (12, "post")]
    assert references("6 6 8 8") == []
