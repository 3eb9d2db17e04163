import numpy as np
import pytest

from handaxe.view import plots

pytest.importorskip("matplotlib")


def test_a_channel_is_a_panel_and_no_two_rewards_look_the_same(tmp_path, monkeypatch):
    drawn, empty = [], plots._figure

    def kept(*shape, **options):
        drawn.append(empty(*shape, **options))
        return drawn[0]

    monkeypatch.setattr(plots, "_figure", kept)
    values = [np.array([0.0, np.nan]), np.array([1.0])]
    found = {f"reward {k}": {"reward": values, "form": [np.array([np.nan])]} for k in range(7)}
    plots.plot_channels(found, tmp_path / "a.png")
    ((_, axes),) = drawn
    assert [panel.get_title() for panel in axes] == ["reward", "form"]
    lines = axes[0].get_lines()
    assert len({(one.get_color(), one.get_linestyle()) for one in lines}) == len(lines) == 7
    assert not axes[1].get_lines()  # there is no value of it
    assert sorted(set(lines[0].get_xdata()[np.isfinite(lines[0].get_xdata())])) == [0.0, 1.0]
