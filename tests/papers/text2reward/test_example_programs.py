import json

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.text2reward.example_programs import EXAMPLES, Example, read_examples
from handaxe.rewards.program import program
from handaxe.testing.make_records import make_group

NUMBERS = ("ok", "failed", "tokens", "distance", "x", "y", "holding", "gap", "collisions", "filled", "rows")
BEFORE = dict.fromkeys(NUMBERS, 1.0)
AFTER = {**dict.fromkeys(NUMBERS, 2.0), "distance": 0.5, "x": 1.0}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.instruction[:20])
def test_every_example_runs_and_its_components_sum_to_its_total(example):
    scores = program(text=example.program, numbers=lambda one: [BEFORE, AFTER])(make_group(size=2))
    parts = sum(channel for channel in scores.channels.values())
    assert len(scores.channels) >= 2 and parts == pytest.approx(scores.outcome) and scores.outcome.any()


def test_the_example_with_the_grid_by_hand():
    scores = program(text=EXAMPLES[2].program, numbers=lambda one: [BEFORE, {**BEFORE, "distance": 0.5}])(
        make_group(size=1)
    )
    assert scores.outcome.tolist() == [pytest.approx(0.5 - 0.2)]


def test_a_pool_of_a_file(tmp_path):
    file = tmp_path / "pool.jsonl"
    file.write_text(json.dumps({"instruction": "walk", "program": "x = 1"}) + "\n\n")
    assert read_examples(str(file)) == [Example("walk", "x = 1")]
    assert read_examples("") == EXAMPLES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no example"),
        ("{", "line 1: no JSON"),
        ("[1]", "line 1: instruction is None"),
        ('{"instruction": "walk"}', "line 1: program is None"),
        ('{"instruction": "walk", "program": 3}', "line 1: program is 3"),
        ('{"instruction": "a", "program": "b"}\n{"instruction": " ", "program": "b"}', "line 2: instruction is ' '"),
    ],
)
def test_a_bad_pool_is_one_error_with_the_line(tmp_path, text, message):
    file = tmp_path / "pool.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_examples(str(file))


def test_a_missing_pool_is_named():
    with pytest.raises(InputError, match="--pool nowhere.jsonl: "):
        read_examples("nowhere.jsonl")
