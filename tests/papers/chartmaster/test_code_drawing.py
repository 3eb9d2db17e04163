import numpy as np
import pytest

pytest.importorskip("matplotlib")

from handaxe.core.errors import InfrastructureError
from handaxe.papers.chartmaster import code_drawing
from handaxe.papers.chartmaster.code_drawing import HEIGHT, WIDTH, Chart, Drawer

BARS = "ax.bar([*'ab'],[3,5],color='red');ax.set_title('tea')"


@pytest.fixture(scope="module")
def drawer(sandbox):
    return Drawer()


def test_chart_has_texts_numbers_colours_and_layout(drawer):
    chart = drawer.draw_trusted(BARS)
    assert chart[:4] == (("a", "b", "tea"), (3.0, 5.0), ("#ff0000",), ("2 patches, 0 lines",))
    assert chart.attributes == {
        *(("text", word) for word in ("a", "b", "tea")),
        ("number", 3.0),
        ("number", 5.0),
        ("colour", "#ff0000"),
        ("layout", "2 patches, 0 lines"),
    }
    assert chart.pixels.shape == (HEIGHT, WIDTH, 3) and (chart.pixels[..., 0] > chart.pixels[..., 1] + 100).sum() > 30
    assert chart.ink.min() == 0 and 0 < chart.ink.max() <= 1


def test_a_separate_session_draws_equal_charts_and_caches_them(drawer):
    fresh = Drawer()
    one = fresh.draw(BARS)
    kept = drawer.draw_trusted(BARS)
    assert one[:4] == kept[:4] and (one.pixels == kept.pixels).all()
    assert fresh.draw(BARS) is one


def test_different_charts_have_different_pixels(drawer):
    charts = [drawer.draw_trusted(code) for code in (BARS, BARS.replace("3,5", "5,3"), "ax.plot([3,5],color='red')")]
    assert len({chart.pixels.tobytes() for chart in charts}) == 3
    assert charts[2].numbers == (3.0, 5.0) and charts[2].texts == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("ax.bar(", "SyntaxError"),
        ("import os; os._exit(1)", "exit status 1"),
        ("open('/etc/passwd')", "FileNotFoundError"),
        ("while True: pass", "ran for more than"),
        ("fig = None", "AttributeError"),
        ("ax.plot([float('nan')])", "cannot be read"),
        ("ax.set_title('x' * 300)", "cannot be read"),
        ("import json; json.dumps = lambda found: '[' * 10**5", "cannot be read"),
    ],
)
def test_hostile_code_draws_nothing_and_stays_in_its_session(drawer, code, why):
    said = drawer.draw(code)
    assert why in said or "limit on processor time" in said  # the first failure counts
    assert isinstance(drawer.draw_trusted(BARS), Chart)


@pytest.mark.slow
def test_sessions_are_isolated(drawer):
    fresh = Drawer()
    spoilt = fresh.draw(f"from matplotlib.axes import Axes; Axes.bar = lambda *a, **k: None;{BARS}")
    assert spoilt.numbers == () and fresh.draw(f"{BARS};0").numbers == (3.0, 5.0)


@pytest.mark.slow
def test_pyplot_figures_and_other_sizes_are_supported(drawer):
    made = drawer.draw(
        "import matplotlib.pyplot as plt\nplt.figure(figsize=(9, 9))\nplt.plot([1, 2], label='one')\nplt.legend()"
    )
    assert made.numbers == (1.0, 2.0) and made.texts == ("one",) and np.shape(made.pixels) == (HEIGHT, WIDTH, 3)


@pytest.mark.slow
def test_a_timed_out_persistent_session_is_replaced(monkeypatch):
    """The failed chart is not cached: the next call draws it."""
    pool, ended = [], []

    def session(limits, **more):
        made = session_of(limits, **more)
        pool.append(made)
        monkeypatch.setattr(made.owner, "close", lambda close=made.owner.close: (ended.append(made), close()))
        return made

    session_of = code_drawing._session
    drawn_of = code_drawing._drawn
    replies = iter(["TimeoutError: ran for more than 60 seconds"])
    monkeypatch.setattr(code_drawing, "_session", session)
    monkeypatch.setattr(code_drawing, "_drawn", lambda *given: next(replies, None) or drawn_of(*given))
    own = Drawer()
    with pytest.raises(InfrastructureError, match="TimeoutError"):
        own.draw_trusted(BARS)
    assert isinstance(own.draw_trusted(BARS), Chart) and len(pool) == 2 and ended == pool[:1]
