import collections
import importlib
import random
import sys
import types

import pytest

pytest.importorskip("bfcl_eval")

from handaxe.core.records import ToolCall
from handaxe.worlds.bfcl.matching import first_accepted, matches
from handaxe.worlds.bfcl.notation import NOTATIONS
from handaxe.worlds.bfcl.package import SINGLE_TURN, read_answers, read_questions
from handaxe.worlds.bfcl.tasks import all_tasks

AREA = [
    {
        "name": "shape.area",
        "parameters": {
            "properties": {"base": {"type": "integer"}, "height": {"type": "float"}, "unit": {"type": "string"}},
            "required": ["base"],
        },
    }
]
ANSWER = [{"shape.area": {"base": [10], "height": [2.0, ""], "unit": ["square cm", ""]}}]


def area(**arguments):
    return matches([ToolCall("shape_area", arguments)], ANSWER, AREA)


def test_matches_accepts_the_example_and_rejects_a_float():
    functions = [{**AREA[0], "name": "area"}]
    answer = [{"area": {"base": [10], "unit": ["cm", ""]}}]
    assert matches([ToolCall("area", {"base": 10})], answer, functions)
    assert not matches([ToolCall("area", {"base": 10.0})], answer, functions)
    assert first_accepted(answer[0], functions) == ToolCall("area", {"base": 10})


def test_a_call_is_compared_with_accepted_values():
    assert area(base=10) and area(base=10, height=2, unit="Square-CM") and area(base=10, height=2.0)
    for wrong in ({}, {"base": 11}, {"base": "10"}, {"base": True}, {"base": 10, "extra": 1}, {"base": 10, "unit": 1}):
        assert not area(**wrong)
    assert not area(base=10, height=3) and not area(base=10, unit="cm")
    assert not matches([], ANSWER, AREA) and not matches([ToolCall("area", {"base": 10})], ANSWER, AREA)


def test_calls_match_in_any_order_and_once():
    two = [{"shape.area": {"base": [n], "height": [""], "unit": [""]}} for n in (1, 2)]
    one, other = ToolCall("shape_area", {"base": 1}), ToolCall("shape.area", {"base": 2})
    assert matches([one, other], two, AREA) and matches([other, one], two, AREA)
    assert not matches([one, one], two, AREA) and not matches([one], two, AREA)


def test_every_answer_but_six_unsatisfiable_ones_is_accepted():
    wrong, count = [], 0
    for category in SINGLE_TURN:
        for question, answer in zip(read_questions(category), read_answers(category)):
            count += 1
            accepted, functions = answer["ground_truth"], question["function"]
            assert question["id"] == answer["id"] and not matches([], accepted, functions)
            notation = NOTATIONS.get(category)
            gold = [first_accepted(one, functions, notation) for one in accepted]
            if not matches(gold, accepted, functions, notation):
                wrong.append(question["id"])
    assert count == 2501
    assert wrong == [
        "simple_java_36",
        "simple_java_65",
        "live_simple_106-63-0",
        "live_simple_112-68-0",
        "live_multiple_862-181-3",
        "live_multiple_964-207-0",
    ]


class Models(dict):
    """The package's table of models, which needs vendors' clients; every model writes _ for a dot."""

    def __missing__(self, name):
        return types.SimpleNamespace(underscore_to_dot=True)


@pytest.fixture
def checker(monkeypatch):
    """The package's checker with a replaced table of models, the only part with missing imports."""
    table = types.ModuleType("bfcl_eval.constants.model_config")
    table.MODEL_CONFIG_MAPPING = Models()
    monkeypatch.setitem(sys.modules, table.__name__, table)
    module = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
    yield module.ast_checker
    sys.modules.pop(module.__name__)


def test_matches_equals_the_packages_checker(checker, changed):
    """On every answer, with random changes."""
    languages = importlib.import_module("bfcl_eval.constants.enums").Language
    rng, seen = random.Random(0), collections.Counter()
    for category in SINGLE_TURN:
        for task in all_tasks(category):
            functions, answer = task.metadata["functions"], task.answer
            notation = NOTATIONS.get(category)
            language = languages((notation.called if notation else "python").lower())
            for _ in range(0 if not answer else 2 if notation is None else 20):
                calls = changed(task.metadata["gold"], rng)
                written = [{one["name"]: one["arguments"]} for one in calls]
                theirs = checker(functions, written, answer, language, category, "any")["valid"]
                said = [ToolCall(one["name"], one["arguments"]) for one in calls]
                mine = matches(said, answer, functions, notation)
                assert mine is theirs, (task.id, calls)
                seen[mine] += 1
    assert min(seen.values()) > 1500
