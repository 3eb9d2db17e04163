import pytest

from handaxe.core.errors import InputError
from handaxe.testing.make_records import make_rated
from handaxe.training.loop.learners import learn_all, named_learners


class Seen:
    def __init__(self):
        self.asked = []

    def learn(self, groups, *, step):
        self.asked.append((step, len(groups)))
        return {"groups": len(groups), "share": 0.5}

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


class StepJudge2(Seen):
    pass


def test_names():
    found = named_learners([Seen(), StepJudge2(), Seen(), Seen()])
    assert list(found) == ["seen", "step_judge2", "seen_2", "seen_3"]


def test_what_cannot_learn_is_refused():
    with pytest.raises(InputError, match="lacks learn, state_dict or load_state_dict"):
        named_learners([lambda groups: {}])


def test_each_learns_once_from_all_groups():
    one, two = Seen(), Seen()
    metrics = learn_all(named_learners([one, two]), [make_rated(), make_rated()], 3)
    assert one.asked == two.asked == [(3, 2)]
    assert metrics == {"learner/seen/groups": 2.0, "learner/seen/share": 0.5} | {
        "learner/seen_2/groups": 2.0,
        "learner/seen_2/share": 0.5,
    }
