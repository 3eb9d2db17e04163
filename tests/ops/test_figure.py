import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.ops.figure import new_figure


def test_new_figure_has_panels_and_no_window():
    figure, panels = new_figure(2, 3)
    assert len(panels) == 6 and figure.canvas.manager is None


def test_missing_matplotlib_is_an_error_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"handaxe\[plots\], or pass --no-plots"):
        new_figure(1, 1, instead="pass --no-plots")
    with pytest.raises(InputError, match=r"handaxe\[plots\]$"):
        new_figure(1, 1)
