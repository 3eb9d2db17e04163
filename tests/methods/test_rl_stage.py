from handaxe.commands.configure import parse_train
from handaxe.methods.build import make_method, make_world
from handaxe.methods.method import replace
from handaxe.methods.rl_stage import rl_stage, update_arguments
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.record.run_record import RunRecord


def test_rl_stage_trains_before_the_loop_with_the_sizes_of_the_settings(tmp_path, monkeypatch):
    words = ["--world", "arithmetic", "--steps", "1", "--groups", "1", "--group-size", "2", "--held-out", "2"]
    spec, _ = parse_train("grpo", words, prog="handaxe train", also={})
    method = make_method(spec, make_world(spec))
    check_train_arguments(update_arguments(method))
    arguments = update_arguments(method)
    assert arguments["updates"].annotate == ("ref_logp",) and arguments["credit"] is method.credit
    before = replace(method, stages=(rl_stage(method, steps=2),))
    monkeypatch.setattr("handaxe.methods.run.make_method", lambda *given: before)
    result = run(spec, RunConfig(out=tmp_path / "run", progress=False))
    assert len(result.metrics) == 1
    with RunRecord.open(tmp_path / "run" / "stages" / "00-reinforce") as record:
        assert [row["trajectories"] for row in record.metrics()] == [2, 2]  # the group size of the settings
