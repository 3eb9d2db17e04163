"""Execution of matplotlib code in a sandbox, and extraction of the picture's content.

The code has a figure `fig` with axes `ax`, which cover the figure, and may create further figures with pyplot. Each
code runs in a separate session, which ends afterwards. Only code of this library may run in a persistent session, which
saves the half second of matplotlib's import.

The content of a picture is extracted in the session of the code: code that changes matplotlib itself can report content
that it did not draw. It cannot report more than code could draw, and reaches no other session.
"""

from __future__ import annotations

import base64
import binascii
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InfrastructureError, Retry
from handaxe.models.chat_formats.tool_call_parsing import read_json
from handaxe.tools.cpython import cpython
from handaxe.tools.decorator import Tool
from handaxe.tools.sandbox.limits import Limits

__all__ = ["Chart", "Drawer", "HEIGHT", "WIDTH"]

WIDTH, HEIGHT = 32, 32
"""Pixels of the stored picture; the drawn picture has twice the resolution."""
MAX_BARS, MAX_HEIGHT = 4, 5.5
"""Extent of the axes, which the code may change."""
LIMIT = 200
"""Limit of stored texts, numbers and colours of a picture."""
LIMITS = Limits(seconds=20.0, cpu=5)
"""Limits of processor time, independent of other processes."""
TRUSTED_LIMITS = Limits(seconds=60.0, cpu=100_000)
"""Limits of the session for code of this library."""
PRELOAD = ("numpy", "matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.category")
BEGIN = f"""
import matplotlib
matplotlib.use("Agg")
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
matplotlib.rcParams["lines.linewidth"] = 4
fig = Figure(figsize=({WIDTH / 20}, {HEIGHT / 20}), dpi=40)
ax = fig.add_axes((0, 0, 1, 1))
ax.set_axis_off()
ax.set(xlim=(-0.5, {MAX_BARS - 0.5}), ylim=(0, {MAX_HEIGHT}))
"""
COLLECT = f"""
def _collect(fig):
    import base64, json, sys
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import to_hex
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and pyplot.get_fignums():
        fig = pyplot.gcf()
    texts, numbers, colours, layout = set(), [], set(), []
    for ax in fig.axes:
        units = getattr(ax.xaxis.get_units(), "_mapping", {{}})
        legend = ax.get_legend()
        texts |= {{str(one) for one in units}} | {{ax.get_title(), ax.get_xlabel(), ax.get_ylabel()}}
        texts |= {{one.get_text() for one in [*ax.texts, *(legend.get_texts() if legend else ())]}}
        bars, lines = ax.patches[:{LIMIT}], ax.lines[:{LIMIT}]
        numbers += [float(one.get_height()) for one in bars if hasattr(one, "get_height")]
        numbers += [float(y) for one in lines for y in list(one.get_ydata())[:{LIMIT}]]
        colours |= {{to_hex(one.get_facecolor()) for one in bars}} | {{to_hex(one.get_color()) for one in lines}}
        layout.append(f"{{len(ax.patches)}} patches, {{len(ax.lines)}} lines")
    fig.set_size_inches({WIDTH / 20}, {HEIGHT / 20})
    fig.set_dpi(40)
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3].astype(float)
    pixels = pixels.reshape({HEIGHT}, 2, {WIDTH}, 2, 3).mean(axis=(1, 3)).round().astype(np.uint8)
    found = {{"texts": sorted(texts - {{""}}), "numbers": numbers, "colours": sorted(colours), "layout": layout}}
    print(json.dumps({{**found, "pixels": base64.b64encode(pixels.tobytes()).decode()}}))
_collect(fig)
"""


class Chart(NamedTuple):
    """Content of a picture: texts, heights of bars and points in order, colours as #rrggbb, patches and lines per axes,
    and pixels.

    pixels: [32, 32, 3] of 0 to 255.
    """

    texts: tuple[str, ...]
    numbers: tuple[float, ...]
    colours: tuple[str, ...]
    layout: tuple[str, ...]
    pixels: np.ndarray

    @property
    def attributes(self) -> frozenset[tuple[str, str | float]]:
        """Content without pixels, as a set."""
        parts: dict[str, tuple[str | float, ...]] = {"text": self.texts, "number": self.numbers}
        parts |= {"colour": self.colours, "layout": self.layout}
        return frozenset((kind, value) for kind, values in parts.items() for value in values)

    @property
    def ink(self) -> np.ndarray:
        """Distance of each pixel from white, 0 to 1, [32, 32, 3]."""
        return 1.0 - self.pixels / 255.0


class Drawer:
    """Thread-safe executor of chart code with a cache of recent charts."""

    def __init__(self, *, remembered: int = 2_000):
        self._charts: OrderedDict[str, Chart | str] = OrderedDict()
        self._remembered = remembered
        self._lock, self._own_lock = threading.Lock(), threading.Lock()
        self._own: tuple[int, Tool] | None = None

    def draw(self, code: str) -> Chart | str:
        """Run code in a separate session. Return the chart, or an error message in words.

        Raises:
            InputError: matplotlib is not installed (extra [charts]), or no sandbox is available.
            InfrastructureError: a session cannot be started.
        """
        with self._lock:
            if code in self._charts:
                self._charts.move_to_end(code)
                return self._charts[code]
        session = _session(LIMITS)
        try:
            made = _drawn(session, code)
        finally:
            session.owner.close()
        return made if isinstance(made, str) and "TimeoutError" in made else self._keep(code, made)

    def draw_trusted(self, code: str) -> Chart:
        """Run code of this library in a persistent session.

        Raises:
            InfrastructureError: no chart, for example after a timeout of the session; the next call starts a new
                session.
            InputError: as `draw`.
        """
        with self._own_lock:
            with self._lock:
                known = self._charts.get(code)
            if isinstance(known, Chart):
                return known
            if self._own is None or self._own[0] != os.getpid():  # a session belongs to its process
                self._own = os.getpid(), _session(TRUSTED_LIMITS, warm=0)
            made = _drawn(self._own[1], code)
            if isinstance(made, str):
                self._own[1].owner.close()
                self._own = None
                raise InfrastructureError(f"a chart of this library's own was not drawn: {made}")
            self._keep(code, made)
            return made

    def _keep(self, code: str, made: Chart | str) -> Chart | str:
        with self._lock:
            self._charts[code] = made
            while len(self._charts) > self._remembered:
                self._charts.popitem(last=False)
        return made


def _session(limits: Limits, *, warm: int = 1) -> Tool:
    return cpython(limits=limits, packages=("numpy", "matplotlib"), preload=PRELOAD, max_chars=20_000, warm=warm)


def _drawn(session: Tool, code: str) -> Chart | str:
    try:
        session(BEGIN)
        session(code)
        reply = session(COLLECT)
    except Retry as error:
        return str(error)[-300:]
    return _chart(reply) or "what was drawn cannot be read"


def _chart(report: str) -> Chart | None:
    """Parse the chart reported by a session; the untrusted report is validated."""
    try:
        found = read_json(report.strip())
        pixels = base64.b64decode(found["pixels"], validate=True)
    except (ValueError, KeyError, TypeError, binascii.Error):
        return None
    if len(pixels) != HEIGHT * WIDTH * 3 or not _lists(found):
        return None
    numbers = tuple(float(f"{float(one):.6g}") for one in found["numbers"])
    texts, colours, layout = (tuple(found[name]) for name in ("texts", "colours", "layout"))
    picture = np.frombuffer(pixels, dtype=np.uint8).reshape(HEIGHT, WIDTH, 3)
    return Chart(texts, numbers, colours, layout, picture)


def _lists(found: Mapping[str, Any]) -> bool:
    wanted: dict[str, tuple[type, ...]] = {
        "texts": (str,),
        "numbers": (int, float),
        "colours": (str,),
        "layout": (str,),
    }
    return all(
        isinstance(found.get(name), list)
        and len(found[name]) <= LIMIT
        and all(isinstance(one, kinds) and len(str(one)) <= LIMIT for one in found[name])
        for name, kinds in wanted.items()
    ) and all(abs(float(one)) < 1e100 for one in found["numbers"])
