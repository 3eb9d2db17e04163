import pytest

from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.fathom.fathom_synthesizer import _figures
from handaxe.papers.fathom.reports import FORMS, report_text, reports
from handaxe.testing.make_records import make_group, make_rated
from handaxe.worlds.parts.demonstrate import demonstrate


def rated(form, mend):
    """Three reports of a form, the first of them as `mend` makes it."""
    world = reports(form=form, size=16)
    found = []
    for place, task in enumerate(world.tasks("test", 3, 0)):
        said = report_text(task.metadata["asked"], task.metadata["sources"], form)
        text = mend(said) if place == 0 else said
        one = demonstrate(
            world.env(()), task, lambda task, facts, text=text: Message("assistant", text), format=Compact()
        )
        group = make_group(task=task, trajectories=[one])
        found.append(make_rated(group=group, scores=world.correct(group)))
    return found


def test_figures_by_hand():
    """The first report without a plan cites nothing, and the first bare report is empty."""
    mend = {"plan": str, "cite": lambda said: said.replace("[", "("), "bare": lambda said: ""}
    found = _figures({form: rated(form, mend[form]) for form in FORMS})
    assert (found["right/plan"], found["right/cite"], found["right/bare"]) == pytest.approx((1.0, 2 / 3, 2 / 3))
    assert (found["stated/plan"], found["stated/cite"], found["stated/bare"]) == pytest.approx((1.0, 1.0, 2 / 3))
    assert (found["cited/plan"], found["cited/cite"], found["planned"]) == pytest.approx((1.0, 2 / 3, 1.0))
    assert (found["gain/plan"], found["gain/cited"]) == pytest.approx((1 / 3, 2 / 3))
