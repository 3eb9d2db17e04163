import dataclasses

import pytest

from handaxe.core.records import Message, ParsedTurn, Sampling, Task
from handaxe.core.requests import Act, Attempt, Completion, EnvReply, Rendered, Sample


def test_an_empty_reply_does_not_end_the_rollout():
    assert EnvReply() == ((), (), False, None, {}, None)


def test_rendered_continues_the_sequence_by_default():
    assert Rendered([1], [0]).fresh is False


def test_requests_are_plain_values():
    sample = Sample([1, 2], Sampling(), 7, frozenset({3}))
    assert sample.header == frozenset() and sample.turn == 0 and sample == Sample([1, 2], Sampling(), 7, frozenset({3}))
    assert Act(None, ParsedTurn("x"), 1).turn.text == "x"
    assert Completion([1], [-1.0], [-1.0], [0], "stop").seconds == 0.0


def test_an_attempt_is_frozen():
    task = Task("t", (Message("user", "?"),))
    attempt = Attempt(task, lambda task: None, None, Sampling(), "t/0", 0, 1, 10)
    with pytest.raises(dataclasses.FrozenInstanceError):
        attempt.seed = 2
