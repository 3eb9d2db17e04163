from dataclasses import replace

import pytest

from handaxe.core.records import STOPPED, Ending
from handaxe.ops.rewindable import NEW_SEQUENCE_NOTE, rewind_obstacle
from handaxe.testing.make_records import make_trajectory

WHOLE = make_trajectory()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"aux_turns": (WHOLE,)}, "auxiliary turns"),
        ({"by": "user"}, "another engine"),
        ({"notes": {NEW_SEQUENCE_NOTE: [{"read": [0], "then": 2}]}}, "began a new sequence"),
    ],
)
def test_rewind_obstacle_names_the_reason(change, reason):
    assert reason in rewind_obstacle(replace(WHOLE, **change))


def test_forced_spliced_and_truncated_trajectories_have_no_obstacle():
    forced = make_trajectory(layouts=["Ut pp Tt ffp"])
    put = replace(WHOLE, notes={"put": {"0": [1, 1, 0, 0]}, "repaired": [{"turn": 0}], NEW_SEQUENCE_NOTE: []})
    broken = [replace(WHOLE, ending=one) for one in (STOPPED, Ending("truncated", "length"), Ending("infra_error"))]
    assert [rewind_obstacle(one) for one in (WHOLE, forced, put, *broken)] == [""] * 6
