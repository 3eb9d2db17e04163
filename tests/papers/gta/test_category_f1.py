import random

import pytest

from handaxe.core.records import ToolCall
from handaxe.papers.gta.category_f1 import category_f1

CATEGORIES = {"ocr": "perception", "zoom": "perception", "search": "logic", "calculator": "logic"}


def calls(*names):
    return [ToolCall(name, {}) for name in names]


def test_category_f1_matches_its_example():
    found = category_f1([(calls("ocr", "ocr", "calculator"), calls("ocr", "search"))], CATEGORIES)
    assert found == {"perception": pytest.approx(2 / 3, abs=1e-4), "logic": 0}


def test_tools_without_a_category_and_no_rollouts_count_nothing():
    assert category_f1([(calls("paint"), calls("paint"))], CATEGORIES) == {"perception": 0, "logic": 0}
    assert category_f1([], CATEGORIES) == {"perception": 0, "logic": 0}


def slow_f1(rollouts, category):
    names = [name for name, one in CATEGORIES.items() if one == category]
    made = wanted = hits = 0
    for predicted, reference in rollouts:
        made += len([call for call in predicted if call.name in names])
        for gold in reference:
            if gold.name in names:
                wanted += 1
                hits += any(call.name == gold.name for call in predicted)
    precision, recall = hits / (made + 1e-5), hits / (wanted + 1e-5)
    return 2 * precision * recall / (precision + recall + 1e-5)


def test_category_f1_equals_a_loop():
    rng = random.Random(0)
    for _ in range(50):
        drawn = [[calls(*rng.choices([*CATEGORIES, "paint"], k=rng.randrange(5))) for _ in "pr"] for _ in range(4)]
        for category, value in category_f1(drawn, CATEGORIES).items():
            assert value == pytest.approx(slow_f1(drawn, category), abs=1e-12)
