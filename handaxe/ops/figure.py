"""Empty figures of matplotlib, without a window."""

from typing import Any

from handaxe.core.errors import InputError

__all__ = ["new_figure"]

SIZE, DPI = (4.2, 3.0), 110
"""Inches of a panel, and pixels an inch."""


def new_figure(rows: int, columns: int, *, instead: str = "") -> tuple[Any, Any]:
    """Make an empty figure and a flat array of its panels.

    Args:
        rows, columns: of panels.
        instead: advice in the error without matplotlib, such as "leave --plots out"; "" for none.

    Raises:
        InputError: matplotlib is not installed (extra [plots]).
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        advice = f", or {instead}" if instead else ""
        raise InputError(f"plots need matplotlib; install handaxe[plots]{advice}") from error
    figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * rows), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False).ravel()
