import pytest

from handaxe.core.errors import InputError
from handaxe.training.loop.config import AsyncConfig, RunConfig


@pytest.mark.parametrize(
    "pace, says",
    [
        ({"rounds": 0}, "rounds is 0"),
        ({"spare": -1}, "spare is -1"),
        ({"staleness": -1}, "staleness -1"),
        ({"segment_tokens": 0}, "segment_tokens is 0.*or None for no limit"),
        ({"segment_calls": 0}, "segment_calls 0"),
        ({"staleness": 1, "rounds": 2}, "use rounds=1 with staleness"),
        ({"segment_tokens": 5, "rounds": 2}, "use rounds=1"),
        ({"segment_calls": 5, "staleness": 1}, "give staleness=0 with segment_tokens"),
        ({"race": True}, "launches no more than these: give staleness=1 or more"),
        ({"race": True, "staleness": 1, "rounds": 2}, "use rounds=1"),
        ({"race": True, "segment_calls": 1}, "give staleness=1 or more, without rounds and segments"),
    ],
)
def test_a_pace_that_cannot_be_is_refused(pace, says):
    with pytest.raises(InputError, match=says):
        AsyncConfig(**pace)


@pytest.mark.parametrize(
    "pace, segments, carries",
    [
        (AsyncConfig(), False, False),
        (AsyncConfig(segment_tokens=3), True, True),
        (AsyncConfig(segment_calls=1), True, True),
        (AsyncConfig(staleness=1), False, True),
        (AsyncConfig(staleness=1, race=True), False, True),
    ],
)
def test_what_is_under_way_between_steps(pace, segments, carries):
    assert pace.segments == segments and pace.carries == carries


@pytest.mark.parametrize(
    "keep, says",
    [
        ({"resume": True}, "needs out="),
        ({"checkpoint_every": 0}, "checkpoint_every is 0"),
        ({"checkpoints": 0}, "checkpoints 0"),
    ],
)
def test_what_cannot_be_kept_is_refused(keep, says):
    with pytest.raises(InputError, match=says):
        RunConfig(**keep)
