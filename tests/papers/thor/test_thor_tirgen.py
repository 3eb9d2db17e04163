from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

SHORT = ["--solutions", "3"]
SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--seed", "1", "--model", "tiny"]


def test_solutions_are_fine_tuned_on_before_training(tmp_path):
    assert len(made("thor_tirgen").stages) == len(made("thor").stages) + 1
    spec = parse_train("thor_tirgen", [*SMALL, *SHORT], prog="handaxe train", also={"run": RunOptions})[0]
    run(spec, RunConfig(out=tmp_path, progress=False, recipe={"name": "thor_tirgen", "arguments": spec.arguments()}))
    stages = [one.parent for one in (tmp_path / "stages").rglob("record.sqlite")]
    assert [RunRecord.open(one).steps() for one in stages] == [[0]]
