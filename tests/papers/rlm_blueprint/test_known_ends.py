from dataclasses import replace

import numpy as np

from handaxe.core.records import STOPPED, Group, Scores
from handaxe.papers.rlm_blueprint.known_ends import known_ends
from handaxe.testing.make_records import make_trajectory


class Fixed:
    def score_steps(self, group):
        return tuple(np.linspace(0.2, 0.4, len(one.turns)) for one in group)


CONTRACT = []  # a judge of steps alone
LAB = "the true reward of a finished rollout, in a study"


def test_finished_rollouts_have_the_true_reward():
    done = make_trajectory(layouts=["Up Tp"], id="t/0")
    open_ = replace(done, id="t/1", ending=STOPPED)
    group = Group(done.task, (done, open_))

    def outcome(given):
        return Scores(np.array([1.0, 1.0]))

    first, second = known_ends(outcome=outcome, judge=Fixed()).score_steps(group)
    assert first.tolist() == [0.2, 1.0] and second.tolist() == [0.2, 0.4]
    plain = known_ends(outcome=lambda given: Scores(np.array([0.0, np.nan]))).score_steps(group)
    assert plain[0].tolist() == [0.0, -1.0] and plain[1].tolist() == [0.0, 0.0]
