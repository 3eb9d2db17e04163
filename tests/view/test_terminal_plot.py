import math

from handaxe.view.terminal_plot import terminal_plot


def test_plot_has_points_title_and_legend():
    drawing = terminal_plot(
        {"reward": [(0, 0.0), (10, 1.0)], "accuracy": [(0, 0.5), (10, 0.5)]}, title="otc", width=60, height=10
    )
    lines = drawing.plain.splitlines()
    assert "otc" in lines[0] and "reward" in lines[-1] and "accuracy" in lines[-1]
    assert len(lines) == 11 and max(map(len, lines)) <= 60
    rising = [line.index(char) for line in lines for char in line if "\u2800" < char <= "\u28ff"]
    assert rising[0] > rising[-1], "higher on the right"
    assert any("\u2022" * 20 in line for line in lines), "the flat series is a flat line"


def test_plot_ignores_points_that_are_not_finite():
    points = [(0, 1.0), (1, math.nan), (2, math.inf), (3, 2.0)]
    assert terminal_plot({"a": points}).plain == terminal_plot({"a": [(0, 1.0), (3, 2.0)], "b": [(0, math.nan)]}).plain


def test_plot_without_points_is_empty():
    assert (
        terminal_plot({}).plain == terminal_plot({"a": []}).plain == terminal_plot({"a": [(0, math.nan)]}).plain == ""
    )


def test_plot_escapes_names():
    assert "\x1b" not in terminal_plot({"\x1b[2J": [(0, 0.0), (1, 1.0)]}, title="\x1b]0;x\x07").plain


def test_plots_are_independent():
    first = terminal_plot({"a": [(0, 0.0), (1, 1.0)]}).plain
    terminal_plot({"b": [(0, 5.0), (9, 7.0)]}, title="other")
    assert terminal_plot({"a": [(0, 0.0), (1, 1.0)]}).plain == first
