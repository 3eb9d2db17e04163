import pytest

from handaxe.papers.android_world import _phone_figures
from handaxe.papers.android_world.phone_templates import TEMPLATES


def test_the_study_has_every_template_and_both_spreads():
    found = _phone_figures(2, 900)
    assert {f"phone/{name}" for name in TEMPLATES} < set(found)
    assert found["phone/gap"] == pytest.approx(found["phone/params"] - found["phone/policy"], abs=1e-9)
    assert 0 <= found["phone/partial"] <= 1 and 0 <= found["phone/claimed"] <= 1
    assert _phone_figures(2, 900) == found
