"""Fine-tuning on programs before training."""

import json

import pytest
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig

SHORT = ["--solutions", "3", "--epochs", "1"]
SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--seed", "1"]


@pytest.mark.slow
def test_programs_are_fine_tuned_on_before_training(tmp_path):
    assert len(made("retool_cold_start").stages) == len(made("retool").stages) + 1
    words = [*SMALL, *SHORT]
    spec = parse_train("retool_cold_start", words, prog="handaxe train", also={"run": RunOptions})[0]
    recipe = {"name": "retool_cold_start", "arguments": spec.arguments()}
    run(spec, RunConfig(out=tmp_path, progress=False, recipe=recipe))
    (file,) = tmp_path.rglob("tasks.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 3
    for row in rows:
        ((_, code, value, fails),) = row["lesson"]
        assert code == f"print({row['expression']})" and value == row["answer"] and not fails


def test_a_taught_source_is_refused():
    with pytest.raises(InputError, match="--writer head:tiny"):
        made("retool_cold_start", "--writer", "head:tiny")
