from rich.console import Console

from handaxe.commands.report import evaluations, print_outcome, read_outcome, result_body
from handaxe.training.record import RunRecord


def shown(found, width=80):
    console = Console(record=True, width=width, highlight=False)
    print_outcome(found, console)
    return console.export_text()


def test_a_finished_run(finished, capsys):
    found = read_outcome(finished)
    assert sorted(found.evaluated) == [0, 2] and found.before is found.evaluated[0]
    text = shown(found)
    assert "4 held-out tasks" in text and "reward (training)" in text
    assert f"handaxe resume {finished} --steps 4" in text
    with RunRecord.open(finished) as record:
        assert evaluations(record)[2] == found.after


def test_an_interrupted_run_says_how_to_go_on(finished, capsys):
    text = shown(read_outcome(finished, stopped="interrupted"))
    assert f"stopped    after 2 steps; go on with: handaxe resume {finished}" in text


def test_a_run_that_was_never_evaluated(tmp_path, capsys):
    with RunRecord(tmp_path / "run") as record:
        record.write_step(0, [], {"reward": 0.25})
    found = read_outcome(tmp_path / "run")
    assert (found.before, found.after, found.comparison) == (None, None, None)
    assert "handaxe show" in shown(found)
    body = result_body(found, recipe="r", arguments={}, command="c", seconds=1.26)
    assert body["before"] == body["after"] == body["difference"] == {}
    assert body["reward"] == [0.25] and body["seconds"] == 1.3
