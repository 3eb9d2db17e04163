"""Fine-tuning on lessons of TIRGen before training; actor and refiner by sources."""

import pytest
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

SHORT = ["--solutions", "3"]
SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--seed", "1", "--model", "tiny"]


def played(folder, *words):
    spec = parse_train("thor_tirgen", [*SMALL, *SHORT, *words], prog="handaxe train", also={"run": RunOptions})[0]
    run(spec, RunConfig(out=folder, progress=False, recipe={"name": "thor_tirgen", "arguments": spec.arguments()}))


@pytest.mark.slow
def test_lessons_are_fine_tuned_on_before_training(tmp_path):
    assert len(made("thor_tirgen").stages) == len(made("thor").stages) + 1
    played(tmp_path)
    stages = [one.parent for one in (tmp_path / "stages").rglob("record.sqlite")]
    assert [RunRecord.open(one).steps() for one in stages] == [[0]]


@pytest.mark.slow
def test_a_model_that_writes_no_step_leaves_no_lesson_and_no_rule_answers(tmp_path):
    with pytest.raises(InputError, match="has no lesson that fits: .*(no step|no answer|another answer)"):
        played(tmp_path, "--actor", "self", "--refiner", "self")
    assert {"actor.sqlite", "refiner.sqlite"} <= {one.name for one in tmp_path.rglob("*.sqlite")}


@pytest.mark.parametrize("option", ["--actor", "--refiner"])
def test_a_taught_source_is_refused(option):
    with pytest.raises(InputError, match=f"{option} trained"):
        made("thor_tirgen", option, "trained")
