from pathlib import Path
from xml.etree import ElementTree

import pytest

from handaxe.core.errors import InputError
from handaxe.training.loop.result_views import ROWS, metric_curves, metric_table
from handaxe.training.loop.run import TrainResult

METRICS = [{"step": float(n), "reward": n / 10, "loss": -1.0, "price $": 1.0} for n in range(5)]
METRICS[3]["eval/pass@1"] = 0.75


def panels(curves):
    return {
        panel.get_title(): [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in panel.lines]
        for panel in curves.figure.axes
    }


def test_metric_curves_draw_main_metrics_over_steps_done():
    found = panels(metric_curves(METRICS))
    assert list(found) == ["reward", "eval/pass@1", "loss"]
    assert found["reward"] == [([1, 2, 3, 4, 5], [0, 0.1, 0.2, 0.3, 0.4])]
    assert found["eval/pass@1"][0] == ([4], [0.75])


def test_metrics_of_few_steps_have_points():
    reward, evaluated = (one.lines[-1] for one in metric_curves(METRICS, ["reward", "eval/pass@1"]).figure.axes)
    assert (reward.get_marker(), evaluated.get_marker()) == ("", "o")


def test_dollar_signs_in_names_are_no_formula():
    curves = metric_curves([{"step": 0.0, r"$\frac{": 1.0}], [r"$\frac{"])
    assert curves._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("metrics, names, why", [(METRICS, ["rewrd"], "'rewrd'; the metrics are"), ([], [], "no step")])
def test_missing_metrics_are_errors(metrics, names, why):
    with pytest.raises(InputError, match=why):
        metric_curves(metrics, names)


def test_curves_are_saved_in_the_format_of_the_name(tmp_path):
    curves = TrainResult(METRICS, None).plot("reward")
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml")):
        curves.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(InputError, match=r"a\.what"):
        curves.save(tmp_path / "a.what")


def test_metric_table_has_first_and_last_step():
    rows = [{"step": float(n), "reward": float(n)} for n in range(50)]
    table = ElementTree.fromstring(metric_table(rows, caption="50 steps"))
    steps = [row[0].text for row in table.find("tbody")]
    assert len(steps) == ROWS and (steps[0], steps[-1]) == ("1", "50")
    assert [cell.text for cell in table.iter("th")] == ["step", "reward"]


def test_result_is_a_table_with_an_escaped_folder():
    page = TrainResult(METRICS, Path("runs/<b>x"), "interrupted", "reward > 0.9")._repr_html_()
    assert "5 steps, interrupted, reward &gt; 0.9, runs/&lt;b&gt;x" in page
    assert [cell.text for cell in ElementTree.fromstring(page).iter("th")] == ["step", "reward", "eval/pass@1", "loss"]


def test_a_result_without_steps_is_an_empty_table():
    assert "0 steps" in TrainResult([], None)._repr_html_()
