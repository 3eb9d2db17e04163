from dataclasses import replace

import pytest

from handaxe.core.records import STOPPED, Ending
from handaxe.ops.going_back import ANEW, why_not_back
from handaxe.testing.records import make_trajectory

WHOLE = make_trajectory()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"asked": (WHOLE,)}, "others were asked"),
        ({"by": "user"}, "another engine"),
        ({"notes": {ANEW: [{"read": [0], "then": 2}]}}, "began a new sequence"),
    ],
)
def test_what_cannot_be_gone_back_to(change, said):
    assert said in why_not_back(replace(WHOLE, **change))


def test_what_can_be():
    forced = make_trajectory(layouts=["Ut pp Tt ffp"])
    put = replace(WHOLE, notes={"put": {"0": [1, 1, 0, 0]}, "repaired": [{"turn": 0}], ANEW: []})
    broken = [replace(WHOLE, ending=one) for one in (STOPPED, Ending("truncated", "length"), Ending("infra_error"))]
    assert [why_not_back(one) for one in (WHOLE, forced, put, *broken)] == [""] * 6
