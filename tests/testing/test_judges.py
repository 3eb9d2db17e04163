"""Judges that each break one promise of the contract."""

import numpy as np
import pytest

from handaxe.testing.judges import check_judge
from handaxe.testing.make_records import make_group, make_trajectory


class Good:
    """Scores the policy's ids by a table, learns the table, compares; a score is the sum over steps."""

    def __init__(self):
        self.table = np.linspace(-1, 1, 256)

    def score_steps(self, group):
        return tuple(np.array([self.of(one, turn) for turn in one.turns], np.float64) for one in group)

    def of(self, one, turn):
        return self.table[one.sequences[turn.sequence].ids[turn.start : turn.stop]].sum()

    def score(self, group):
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def compare(self, pairs):
        both = [self.score(make_group(trajectories=pair)) for pair in pairs]
        return np.array([1 / (1 + np.exp(b - a)) for a, b in both])

    def fit(self, labelled):
        for group, scores in labelled:
            for one, label in zip(group, scores.outcome, strict=True):
                for turn in one.turns:
                    np.add.at(self.table, one.sequences[turn.sequence].ids[turn.start : turn.stop], label - 0.5)
        return {"size": 256.0}

    def state_dict(self):
        return {"table": self.table.copy()}

    def load_state_dict(self, state):
        self.table = np.array(state["table"])


class Fresh(Good):
    def score(self, group):
        return super().score(group) + np.random.default_rng().random(len(group))


class Counts(Good):
    def score(self, group):
        self.table = self.table + 1e-12
        return super().score(group)


class Ranks(Good):
    def score(self, group):
        return super().score(group).argsort().astype(np.float64)


class Peeks(Good):
    def score(self, group):
        return np.array([sum(s.logp.sum() for s in one.sequences) for one in group], np.float64)


class Whole(Good):
    def score_steps(self, group):
        return tuple(np.array([own.sum()]) for own in super().score_steps(group))

    def score(self, group):
        return Good.score(Good(), group)


class Unsure(Good):
    def score(self, group):
        return np.full(len(group), np.nan)


class Single(Good):
    def score(self, group):
        return super().score(group).astype(np.float32)


class Biased(Good):
    def compare(self, pairs):
        return np.full(len(pairs), 0.7)


class Wild(Good):
    def compare(self, pairs):
        return np.full(len(pairs), 1.5)


class Stubborn(Good):
    def fit(self, labelled):
        return {}


class Backwards(Good):
    def fit(self, labelled):
        return super().fit([(group, type(scores)(1 - scores.outcome)) for group, scores in labelled])


class Lost(Good):
    def fit(self, labelled):
        return super().fit(labelled) | {"loss": float("nan")}


class Relabels(Good):
    def fit(self, labelled):
        for _, scores in labelled:
            scores.outcome[:] = 0.5
        return super().fit(labelled)


class Forgets(Good):
    def load_state_dict(self, state):
        pass


class Writes(Good):
    def score(self, group):
        for one in group:
            one.task.metadata["seen"] = True
        return super().score(group)


def siblings():
    return make_group(trajectories=[make_trajectory(texts=["x"] * n, id=f"a{n}") for n in (1, 2, 3)])


def test_good_judges_pass():
    judge = Good()
    before = judge.table.copy()
    check_judge(judge, siblings())
    assert np.array_equal(judge.table, before), "it is put back to its first state"


def test_judge_with_score_only_passes():
    class Plain:
        def score(self, group):
            return np.array([float(len(one.turns)) for one in group])

    check_judge(Plain(), siblings())


@pytest.mark.parametrize(
    "broken, message",
    [
        (Fresh, "two calls"),
        (Counts, "state is changed by scoring|two calls"),
        (Ranks, "with the siblings"),
        (Peeks, "did not write"),
        (Whole, "score_steps has shapes"),
        (Unsure, "score is not finite"),
        (Single, "float32"),
        (Biased, "add up to 1"),
        (Wild, "out of range"),
        (Stubborn, "correct siblings no higher"),
        (Backwards, "correct siblings no higher"),
        (Lost, "metrics of learning"),
        (Relabels, "changed the labels|correct siblings no higher"),
        (Forgets, "load_state_dict"),
        (Writes, "changed the group"),
    ],
)
def test_broken_judges_raise(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_judge(broken(), siblings())
