import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.evaluate import summarize
from handaxe.evaluation.figures import RunFigures, run_figures
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory
from handaxe.training.record import RunRecord


def evaluation(easy, hard, calls=0):
    """An easy and a hard task, each correct or wrong, with a number of calls in the hard task."""
    first = make_group(task=make_task(id="e", metadata={"difficulty": "easy"}), trajectories=[make_trajectory()])
    attempt = make_trajectory(texts=["", "x"], calls=[["f"] * calls, []], replies=[["1"] * calls, []])
    second = make_group(task=make_task(id="h", metadata={"difficulty": "hard"}), trajectories=[attempt])
    return summarize([(first, make_scores([easy])), (second, make_scores([hard]))])


def run(steps=4):
    rows = [
        {"step": float(k), "entropy": 2.0 - k, "tokens/sampled": 10.0 * (k + 1), "tokens/trained": 5.0,
         "calls/made": 3.0, "seconds/sampling": 1.0, "seconds/update": 0.5}
        for k in range(steps)
    ]  # fmt: skip
    return RunFigures(rows, {0: evaluation(0, 0), 2: evaluation(1, 0, calls=2), 4: evaluation(1, 1, calls=4)})


def test_series_of_an_evaluation_metric():
    axis, values = run().series("pass@1")
    assert list(axis) == [0, 2, 4] and list(values) == [0, 0.5, 1]
    assert list(run().series("calls").values) == [0, 1, 2]


def test_series_of_a_part_of_the_tasks():
    assert list(run().series("pass@1", where=("difficulty", "hard")).values) == [0, 0, 1]
    assert list(run().series("calls", where=("difficulty", "hard")).values) == [0, 2, 4]
    assert list(run().series("calls", where=("difficulty", "easy")).values) == [0, 0, 0]


def test_series_of_training_steps_and_of_the_whole_run():
    assert [list(part) for part in run().series("training/entropy")] == [[1, 2, 3, 4], [2, 1, 0, -1]]
    assert run().series("training/tokens_per_second").values[-1] == pytest.approx((10 + 20 + 30 + 40) / 6)
    assert run().series("training/step_seconds").values[-1] == pytest.approx(1.5)


def test_series_of_a_stage_has_the_rows_with_the_figure():
    figures = RunFigures([], {}, {"choose": [{"fall": 0.25, "tasks": 3.0}, {"tasks": 2.0}], "teach": []})
    assert [list(part) for part in figures.series("stages/choose/tasks")] == [[1, 2], [3, 2]]
    assert list(figures.series("stages/choose/fall").values) == [0.25]
    assert not len(figures.series("stages/teach/loss").values) and not len(figures.series("stages/probe/x").values)
    with pytest.raises(InputError, match="the stage choose has the figure 'rise'; its figures are fall, tasks"):
        figures.series("stages/choose/rise")


def test_figures_of_a_record_have_its_stages(tmp_path):
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "stages.json").write_text('{"stages": ["00-teach"]}')
    (tmp_path / "stages" / "metrics.json").write_text('{"00-teach": [{"loss": 0.5}]}')
    with RunRecord(tmp_path) as record:
        assert list(run_figures(record).series("stages/teach/loss").values) == [0.5]


@pytest.mark.parametrize(
    ("axis", "want"), [("steps", [0, 2, 4]), ("tokens", [0, 30, 100]), ("calls", [0, 6, 12]), ("seconds", [0, 3, 6])]
)
def test_axes_are_cumulative(axis, want):
    assert list(run().series("pass@1", axis=axis).axis) == want
    rows, loop = run().metrics, [0.0]
    for row in rows:  # the slow way
        each = {"steps": 1, "tokens": row["tokens/sampled"], "calls": row["calls/made"], "seconds": 1.5}[axis]
        loop.append(loop[-1] + each)
    assert np.allclose(run().spent(axis), loop)


@pytest.mark.parametrize(
    ("metric", "where", "said"),
    [
        ("training/entropi", (), "training/entropi; its figures are calls/made"),
        ("pass@9", (), "no 'pass@9'"),
        ("pass@1", ("difficulty", "odd"), "difficulty 'odd'"),
        ("pass@9", ("difficulty", "easy"), "'pass@9' is not defined"),
    ],
)
def test_a_missing_figure_is_an_error_that_lists_figures(metric, where, said):
    with pytest.raises(InputError, match=said):
        run().series(metric, where=where)


def test_a_run_without_evaluations_is_an_error():
    with pytest.raises(InputError, match=r"never evaluated, so it has no pass@1: give it 1 step"):
        RunFigures([], {}).series("pass@1")
