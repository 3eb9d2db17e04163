import numpy as np
import pytest

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.evaluation.gradient_bias import BiasCase, BiasRow
from handaxe.evaluation.replication import Curve, Replication
from handaxe.view import plots

pytest.importorskip("matplotlib")


@pytest.fixture
def drawn(monkeypatch):
    """Drawn figures with panels."""
    found, empty = [], plots.new_figure

    def recorded(*shape, **options):
        found.append(empty(*shape, **options))
        return found[-1]

    monkeypatch.setattr(plots, "new_figure", recorded)
    return found


def test_side_of_one_step_has_an_error_bar(tmp_path, drawn):
    """Bars of two sides are shifted; a bar in a panel with a curve is not."""
    one, other = Curve((1.0,), (0.5,), (0.4,), (0.7,)), Curve((1.0,), (0.2,), (0.1,), (0.3,))
    long = Curve((1.0, 2.0, 3.0), (0.0, 0.5, 1.0), (0.0, 0.4, 0.9), (0.1, 0.6, 1.0))
    curves = {"training/reward": {"ours": one, "theirs": other}, "training/calls": {"ours": long, "theirs": other}}
    plots.plot_curves(Replication("r", "", "", (0, 1), (), {}, {}, curves, {}), tmp_path / "a.png")
    ((_, (reward, calls)),) = drawn
    drawn_bars = [*reward.collections, calls.collections[-1]]
    ours, theirs, alone = (bar.get_segments()[0].tolist() for bar in drawn_bars)
    assert [[y for _, y in bar] for bar in (ours, theirs, alone)] == [[0.4, 0.7], [0.1, 0.3], [0.1, 0.3]]
    assert ours[0][0] < 1 < theirs[0][0] and alone[0][0] == 1
    assert reward.get_xticks().tolist() == [1.0] and len(calls.get_lines()[0].get_xdata()) == 3


def test_side_has_one_colour_in_every_panel(tmp_path, drawn):
    """Also in a panel without one of the other sides."""
    long = Curve((1.0, 2.0, 3.0), (0.0, 0.5, 1.0), (0.0, 0.4, 0.9), (0.1, 0.6, 1.0))
    curves = {"training/reward": dict.fromkeys(("a", "b", "c"), long), "training/grad_norm": {"a": long, "c": long}}
    plots.plot_curves(Replication("r", "", "", (0, 1), (), {}, {}, curves, {}), tmp_path / "a.png")
    ((_, (reward, norm)),) = drawn
    of_all = {line.get_label(): line.get_color() for line in reward.get_lines()}
    assert {line.get_label(): line.get_color() for line in norm.get_lines()} == {x: of_all[x] for x in ("a", "c")}
    assert len(set(of_all.values())) == 3


def test_seven_sides_have_seven_line_styles(tmp_path, drawn):
    long = Curve((1.0, 2.0, 3.0), (0.0, 0.5, 1.0), (0.0, 0.4, 0.9), (0.1, 0.6, 1.0))
    curves = {"training/reward": {f"side {k}": long for k in range(7)}}
    plots.plot_curves(Replication("r", "", "", (0, 1), (), {}, {}, curves, {}), tmp_path / "a.png")
    lines = drawn[0][1][0].get_lines()
    assert len({(one.get_color(), one.get_linestyle()) for one in lines}) == len(lines) == 7


def test_channel_is_a_panel_and_rewards_have_different_line_styles(tmp_path, drawn):
    values = [np.array([0.0, np.nan]), np.array([1.0])]
    found = {f"reward {k}": {"reward": values, "form": [np.array([np.nan])]} for k in range(7)}
    plots.plot_channels(found, tmp_path / "a.png")
    ((_, axes),) = drawn
    assert [panel.get_title() for panel in axes] == ["reward", "form"]
    lines = axes[0].get_lines()
    assert len({(one.get_color(), one.get_linestyle()) for one in lines}) == len(lines) == 7
    assert not axes[1].get_lines()  # no value is finite
    assert sorted(set(lines[0].get_xdata()[np.isfinite(lines[0].get_xdata())])) == [0.0, 1.0]


def test_credits_are_rows_in_the_given_order(tmp_path, drawn):
    cases = [BiasCase(text, leave_one_out) for text in ("first()", "second()")]
    found = [BiasRow(cases[0], "yes", 1.0, 0.0, 0.0, 0.5), BiasRow(cases[1], "no", -1.0, 2.0, 120.0, 3.0)]
    plots.plot_bias(found, tmp_path / "a.png")
    ((_, (angles, variances)),) = drawn
    assert [label.get_text() for label in angles.get_yticklabels()] == ["first()", "second()"]
    assert angles.collections[0].get_offsets().tolist() == [[0.0, 0.0], [90.0, 1.0]], "at the edge"
    assert variances.collections[0].get_offsets().tolist() == [[0.5, 0.0], [3.0, 1.0]]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
