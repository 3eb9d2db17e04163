import dataclasses

import pytest

from handaxe.core.records import Message, ParsedTurn, Sampling, Task
from handaxe.core.requests import Act, Attempt, Completion, EnvReply, Rendered, Sample


def test_an_empty_reply_is_no_ending():
    assert EnvReply() == ((), (), False, None, {}, None)


def test_a_rendering_continues_unless_it_says_otherwise():
    assert Rendered([1], [0]).fresh is False


def test_requests_are_plain_values():
    sample = Sample([1, 2], Sampling(), 7, frozenset({3}))
    assert sample.header == frozenset() and sample.turn == 0 and sample == Sample([1, 2], Sampling(), 7, frozenset({3}))
    assert Act(None, ParsedTurn("x"), 1).turn.text == "x"
    assert Completion([1], [-1.0], [-1.0], [0], "stop").seconds == 0.0


def test_an_attempt_cannot_be_changed():
    task = Task("t", (Message("user", "?"),))
    attempt = Attempt(task, lambda task: None, None, Sampling(), "t/0", 0, 1, 10)
    with pytest.raises(dataclasses.FrozenInstanceError):
        attempt.seed = 2
