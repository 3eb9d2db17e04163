from dataclasses import replace

import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.core.records import Ending, Message, ToolReply
from handaxe.core.requests import EnvReply
from handaxe.testing.make_records import make_trajectory
from handaxe.training.replay.recorded import StandIn, recorded_answer, recorded_speech, was_answered

TWO = make_trajectory(texts=["", "408"], calls=[["calculator"], []], replies=[["408"], []], logp=[-1, -2, -3, -4])
REPLY = Message("tool", "408", call_id="0-0", name="calculator")


def test_what_the_policy_said():
    said = recorded_speech(TWO, 1)
    assert said.ids == TWO.sequences[0].ids[-2:].tolist() and said.logp == [-3, -4] and said.version == [0, 0]


def test_what_was_answered():
    assert recorded_answer(TWO, 0) == EnvReply((REPLY,), (ToolReply("0-0", "calculator", "408"),), False, None, {})
    assert recorded_answer(TWO, 1) == EnvReply((), (), True, None, {})
    assert was_answered(TWO, 0) and not was_answered(TWO, 1)


def test_what_the_rollout_wrote_is_not_the_environments():
    messages = list(TWO.messages)
    messages[3:3] = [Message("user", "You have left: 1 turn.", name="budget"), Message("user", "go on")]
    assert recorded_answer(replace(TWO, messages=tuple(messages)), 0).messages == (REPLY, Message("user", "go on"))


@pytest.mark.parametrize(
    ("ending", "done"),
    [
        (Ending("completed"), True),
        (Ending("policy_error", "x"), True),
        (Ending("infra_error", "x"), True),
        (Ending("verifier_error"), True),
        (Ending("truncated", "turns"), False),
        (Ending("truncated", "stopped"), False),
    ],
)
def test_who_ended_it(ending, done):
    answer = recorded_answer(replace(TWO, ending=ending), 1)
    assert answer.done is done
    assert answer.ending == (ending if ending.kind in ("policy_error", "infra_error") else None)


def test_after_a_reply_that_was_written_it_could_go_on():
    one = make_trajectory(layouts=["Ut pp tTt"], ending="infra_error")
    assert not recorded_answer(one, 0).done and was_answered(one, 0)
    other = make_trajectory(layouts=["Ut pp", "UttT"], ending="infra_error")
    assert not recorded_answer(other, 0).done and was_answered(other, 0)


class Real:
    state = 3

    def start(self):
        return (), ()

    def step(self, turn, *, seed):
        raise AssertionError

    def snapshot(self):
        return self.state

    def restore(self, state):
        self.state = state

    def close(self):
        pass


def test_it_reports_what_was_reported():
    one = make_trajectory(env={"n": 1})
    assert StandIn(Real(), one, forks=False).report() == {"n": 1} and StandIn(Real(), None, forks=False).report() == {}
    with pytest.raises(InfrastructureError, match="gone"):
        StandIn(Real(), replace(one, ending=Ending("infra_error", "gone")), forks=False).report()


def test_its_state_is_real_where_its_answers_are():
    real = Real()
    for forks, state in ((False, 3), (True, 5)):
        stand = StandIn(real, None, forks=forks)
        assert stand.snapshot() == (3 if forks else None)
        stand.restore(5)
        assert real.state == state
