import numpy as np
import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.core.records import Criterion, Ending, Message, Sampling, Task, check
from handaxe.core.requests import Attempt, Completion, EnvReply
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.until_strict_fails import until_strict_fails
from handaxe.testing.scripted_engine import encode_reply

ORDER = ("open the door", "close it", "thanks")


class Butler:
    """A user with three wishes, one a turn."""

    def __init__(self, task):
        self.task, self.done = task, 0

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        self.done += 1
        if self.done == len(ORDER):
            return EnvReply(done=True)
        return EnvReply((Message("user", ORDER[self.done]),))

    def report(self):
        return {}

    def snapshot(self):
        return self.done

    def restore(self, state):
        self.done = state

    def close(self):
        pass


def attempt():
    return Attempt(
        Task("t", (Message("user", ORDER[0]),)), Butler, Compact(), Sampling(max_tokens=64), "t/0", 0, 5, 1000
    )


def heard(trajectory, criteria):
    rows = [
        [any(one.name in turn.parsed.text for turn in trajectory.turns[: n + 1]) for n in range(len(trajectory.turns))]
        for one in criteria
    ]
    return np.array(rows, bool)


def play(words, criteria, check=heard, rollout=None):
    rollout = rollout or until_strict_fails(criteria=lambda task: criteria, check=check, max_turns=4)
    format, left = Compact(), list(words)

    def speak(name, request):
        ids = encode_reply(format, left.pop(0))
        return Completion(ids, [-0.5] * len(ids), [-0.5] * len(ids), [0] * len(ids), "stop")

    (made,) = run_plan(rollout(attempt()), sample=speak)
    check_record(made)
    return made


check_record = check
OPENED = Criterion("opened", "", strict=True)
CLOSED = Criterion("closed", "", strict=True, part=1)


def test_until_strict_fails_ends_at_an_unmet_strict_criterion():
    made = play(["no", "closed", "bye"], [OPENED, CLOSED])
    assert made.ending == Ending("policy_error", "a strict criterion was not met") and len(made.turns) == 1
    assert made.messages[-1].content == ORDER[1]


@pytest.mark.parametrize(
    "words, criteria, turns",
    [
        (["opened", "closed", "bye"], [OPENED, CLOSED], 3),
        (["opened", "no", "bye"], [OPENED, CLOSED], 2),
        (["no", "no", "bye"], [Criterion("opened", "")], 3),
        (["no", "no", "bye"], [Criterion("bye", "", strict=True, part=2)], 3),
        (["no", "no", "bye"], [], 3),
    ],
)
def test_rollout_ends_at_the_first_failed_strict_criterion_of_its_part(words, criteria, turns):
    made = play(words, criteria)
    assert len(made.turns) == turns and (made.ending.kind == "policy_error") == (turns < 3)


def test_without_failures_it_equals_linear():
    words = ["opened", "closed", "bye"]
    one, other = play(words, [OPENED]), play(words, [], rollout=linear(max_turns=4))
    assert one.messages == other.messages and one.ending == other.ending
    for a, b in zip(one.sequences, other.sequences, strict=True):
        assert np.array_equal(a.ids, b.ids) and np.array_equal(a.author, b.author)


def test_an_unreachable_judge_ends_as_infra_error():
    def broken(trajectory, criteria):
        raise InfrastructureError("the judge is down")

    made = play(["opened", "closed", "bye"], [OPENED], check=broken)
    assert made.ending.kind == "infra_error" and "the judge is down" in made.ending.reason
