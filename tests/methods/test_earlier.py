from handaxe.commands.configure import parse_train
from handaxe.methods.build import make_method, make_world
from handaxe.methods.earlier import earlier, learning
from handaxe.methods.method import replace
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.record.run_record import RunRecord


def test_a_part_of_its_own_training_comes_before(tmp_path, monkeypatch):
    words = ["--world", "sums", "--steps", "1", "--groups", "1", "--group-size", "2", "--held-out", "2"]
    chosen, _ = parse_train("grpo", words, prog="handaxe train", also={})
    method = make_method(chosen, make_world(chosen))
    check_train_arguments(learning(method))
    assert learning(method)["annotate"] == ("ref_logp",) and learning(method)["credit"] is method.credit
    before = replace(method, stages=(earlier(method, steps=2),))
    monkeypatch.setattr("handaxe.methods.run.make_method", lambda *given: before)
    result = run(chosen, RunConfig(out=tmp_path / "run", progress=False))
    assert len(result.metrics) == 1
    with RunRecord.open(tmp_path / "run" / "stages" / "00-reinforce") as record:
        assert [row["trajectories"] for row in record.metrics()] == [2, 2]  # as large as the setting says
