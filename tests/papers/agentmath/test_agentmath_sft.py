import json

import pytest
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig

SHORT = ["--solutions", "4", "--epochs", "1"]
SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--seed", "1", "--model", "tiny"]
ALSO = {"run": RunOptions}


def test_one_stage_precedes_the_partial_rollouts_of_the_base():
    method = made("agentmath_sft")
    assert len(method.stages) == 1 and method.async_config.segment_tokens == 48


@pytest.mark.slow
def test_lessons_have_a_failed_call_before_its_correction(tmp_path):
    spec = parse_train("agentmath_sft", [*SMALL, *SHORT, "--corrections", "1"], prog="handaxe train", also=ALSO)[0]
    recipe = {"name": "agentmath_sft", "arguments": spec.arguments()}
    run(spec, RunConfig(out=tmp_path, progress=False, recipe=recipe))
    (file,) = tmp_path.rglob("tasks.jsonl")
    lessons = [json.loads(line)["lesson"] for line in file.read_text().splitlines()]
    assert [[turn[3] for turn in one] for one in lessons] == [[True, False]] * 4


def test_a_taught_source_is_refused():
    with pytest.raises(InputError, match="--teacher trained"):
        made("agentmath_sft", "--teacher", "trained")
