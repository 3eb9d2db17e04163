from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.endings import treatments
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Ending, Group, Scores
from handaxe.papers.effective_rank.effective_rank_of import effective_rank
from handaxe.testing.make_records import make_group, make_rated, make_task, make_trajectory
from handaxe.training.loop.group_play import Tried
from handaxe.training.loop.rate import (
    FEATURES,
    annotate,
    annotate_added,
    check_features,
    credit_all,
    played_of,
    restarting,
    reward_all,
    without_surplus,
)


def tried(*kinds):
    """A group whose siblings ended so, with ids s0, s1, ..."""
    siblings = []
    for i, kind in enumerate(kinds):
        one = make_trajectory(layouts=["UUt pp tT p"])
        vars(one).update(id=f"s{i}", ending=Ending(kind, "turns" if kind == "truncated" else ""))
        siblings.append(one)
    scorable = np.array([kind != "infra_error" for kind in kinds])
    return Tried(Group(siblings[0].task, tuple(siblings)), scorable, scorable.copy())


class Counts:
    """Scores 10, 20, ... in the order shown; fails on `bad` the first `times` times; remembers whom it scored."""

    def __init__(self, *bad, times=99):
        self.bad, self.times, self.scored, self.called = bad, times, [], 0

    def __call__(self, group):
        self.called += 1
        for one in group:
            self.scored.append(one.id)
            if one.id in self.bad and self.times > 0:
                self.times -= 1
                raise VerifierError("cannot decide", trajectory=one.id)
        values = 10.0 * np.arange(1, len(group) + 1)
        return Scores(values, tuple(np.full(len(t.turns), v) for t, v in zip(group, values)), {"own": values})

    def state_dict(self):
        return {"scored": self.scored}

    def load_state_dict(self, state):
        self.scored = list(state["scored"])


def test_errors_of_the_infrastructure_are_not_shown_to_the_reward():
    one, reward = tried("completed", "infra_error", "truncated"), Counts()
    ((same, scores),) = reward_all([one], reward, treatment=treatments({}), retries=1)
    assert same is one and reward.scored == ["s0", "s2"]
    assert (
        scores.outcome.tolist() == [10, 20] and len(scores.turns) == 2 and scores.channels["own"].tolist() == [10, 20]
    )


def test_what_the_reward_cannot_decide_is_taken_out_and_the_rest_scored_without_it():
    one, reward = tried("completed", "completed", "infra_error", "completed"), Counts("s1")
    ((_, scores),) = reward_all([one], reward, treatment=treatments({}), retries=1)
    assert scores.outcome.tolist() == [10, 20] and [len(turn) for turn in scores.turns] == [2, 2]
    assert one.scorable.tolist() == one.trains.tolist() == [True, False, False, True]
    assert [t.ending.kind for t in one.group] == ["completed", "verifier_error", "infra_error", "completed"]
    assert "cannot decide" in one.group[1].ending.reason
    assert reward.scored == ["s0", "s3"]  # its state knows nothing of the attempts that failed
    assert one.fate == "trained"


def test_a_verifier_that_fails_may_be_asked_again():
    one, reward = tried("completed", "completed"), Counts("s1", times=1)
    ((_, scores),) = reward_all([one], reward, treatment=treatments({"verifier_error": "retry"}), retries=1)
    assert scores.outcome.tolist() == [10, 20] and one.scorable.all() and reward.scored == ["s0", "s1"]


def test_a_verifier_that_fails_may_drop_the_group():
    one = tried("completed", "completed")
    treatment = treatments({"verifier_error": "drop_group"})
    assert reward_all([one], Counts("s1"), treatment=treatment, retries=1) == []
    assert one.fate == "dropped" and not one.scorable.any() and one.group[1].ending.kind == "verifier_error"


def test_groups_of_which_nothing_can_be_scored():
    dead, undecided, dropped = tried("infra_error", "infra_error"), tried("completed"), tried("completed")
    dropped.fate = "dropped"
    reward = Counts("s0")
    assert reward_all([dead, undecided, dropped], reward, treatment=treatments({}), retries=1) == []
    assert [one.fate for one in (dead, undecided, dropped)] == ["unscored", "unscored", "dropped"]
    assert reward.scored == [] and not undecided.scorable.any() and not dropped.trains.any()


def test_credit_sees_the_scorable_siblings_alone(world):
    one = tried("completed", "infra_error", "truncated")
    one.trains[2] = False  # say, masked
    scored = reward_all([one], Counts(), treatment=treatments({}), retries=1)
    (rated,) = credit_all(scored, world.centred)
    assert [t.id for t in rated.group] == ["s0", "s2"] and rated.trained.tolist() == [True, False]
    mask = rated.group[0].sequences[0].mask
    np.testing.assert_array_equal(rated.advantages.tokens[0][0], np.where(mask, -5.0, 0.0))
    assert one.rated is rated


def test_features_are_what_the_engine_measures_row_by_row(world):
    engine = world.make_engine(critic=True, reference=True)
    one = tried("completed", "infra_error", "completed")
    scored = reward_all([one], Counts(), treatment=treatments({}), retries=1)
    annotate(scored, engine, tuple(FEATURES))
    assert one.group[1].sequences[0].features == {}
    for i in (0, 2):
        sequence = one.group[i].sequences[0]
        assert set(sequence.features) == set(FEATURES) and all(
            len(a) == len(sequence) for a in sequence.features.values()
        )
        np.testing.assert_array_equal(sequence.features["old_logp"], sequence.features["ref_logp"])
        mask = sequence.mask
        assert 0 < mask.sum() < len(mask) and np.all(sequence.features["old_logp"][mask] < 0)
        assert np.all(sequence.features["entropy"][mask] > 5) and np.all(sequence.features["collision"][mask] < 0.02)
        assert not any(np.any(array[~mask]) for array in sequence.features.values())
    check_features(tuple(FEATURES))
    with pytest.raises(InputError, match="annotate names fancy"):
        check_features(("fancy", "value"))


def test_hidden_states_are_measured_beside_the_rest(world):
    engine, one, other = world.make_engine(reference=True), tried("completed"), tried("completed")
    for told, names in ((one, ("old_logp", effective_rank(stride=1), "ref_logp")), (other, ("old_logp",))):
        annotate(reward_all([told], Counts(), treatment=treatments({}), retries=1), engine, names)
    features, mask = one.group[0].sequences[0].features, one.group[0].sequences[0].mask
    assert set(features) == {"old_logp", "effective_rank", "ref_logp"}
    np.testing.assert_allclose(features["old_logp"], other.group[0].sequences[0].features["old_logp"], rtol=1e-5)
    rank_P = features["effective_rank"][mask]
    assert not features["effective_rank"][~mask].any() and rank_P[0] == pytest.approx(1.0)
    assert np.all(rank_P <= np.arange(1, len(rank_P) + 1) + 1e-4) and rank_P[-1] > 1.1
    check_features((effective_rank(), "old_logp"))
    twice = reward_all([tried("completed")], Counts(), treatment=treatments({}), retries=1)
    with pytest.raises(InputError, match="called effective_rank, as another one is"):
        annotate(twice, engine, (effective_rank(), effective_rank(stride=2)))
    with pytest.raises(InputError, match="gave .* for .* tokens"):
        annotate(twice, engine, (_Whole(),))


class _Whole:
    """One number for a whole row."""

    name = "whole"

    def __call__(self, hidden_PD):
        return hidden_PD.norm()


@pytest.mark.parametrize("others", [["completed"], []])
def test_a_sequence_without_a_sampled_token_is_not_measured(world, others):
    """Such as a prompt of 200 ids for a model that reads 96."""
    one = tried(*others, "truncated")
    long = make_trajectory(layouts=["U" * 200])
    vars(long).update(id="long", ending=Ending("truncated", "length"))
    one.group = Group(one.group.task, (*one.group.trajectories[:-1], long))
    scored = reward_all([one], Counts(), treatment=treatments({}), retries=1)
    annotate(scored, world.make_engine(), ("old_logp", "entropy"))
    features = [t.sequences[0].features for t in one.group]
    assert features[-1].keys() == {"old_logp", "entropy"} and len(features[-1]["entropy"]) == 200
    assert not any(array.any() for array in features[-1].values())
    assert all(f["entropy"][t.sequences[0].mask].all() for f, t in zip(features[:-1], one.group))


def test_a_selector_that_is_asked_again_starts_again(world):
    class Every:
        """Keeps every second group, counting over its life."""

        seen = 0

        def __call__(self, rated):
            kept = [one for i, one in enumerate(rated) if (self.seen + i) % 2 == 0]
            self.seen += len(rated)
            return kept

        def state_dict(self):
            return {"seen": self.seen}

        def load_state_dict(self, state):
            self.seen = state["seen"]

    select = Every()
    select(list("abc"))
    again = restarting(select)
    assert again(list("defg")) == ["e", "g"] and again(list("defgh")) == ["e", "g"] and select.seen == 8
    assert restarting(list)("ab") == ["a", "b"]


def test_what_a_selector_adds_is_measured_as_fresh_ones_are_but_for_its_old_logp(world):
    engine = world.make_engine(critic=True, reference=True)
    played = make_rated(group=make_group(size=2))
    stored, bare = make_trajectory(features={"old_logp": -7.0, "value": 9.0}), make_trajectory()
    whole = make_rated(group=make_group(trajectories=[stored, bare], task=make_task(id="other")))
    mixed = played.with_group(replace(played.group, trajectories=(played.group[0], whole.group[0])))
    names = ("old_logp", "ref_logp", "value", "entropy")
    one, two, three = annotate_added([played, whole, mixed], [played], engine, names)
    assert one is played and three.group[0] is played.group[0]
    for found in (two.group[0], three.group[1]):
        sequence = found.sequences[0]
        mask = sequence.mask
        np.testing.assert_array_equal(sequence.features["old_logp"][mask], -7.0)
        assert np.all(sequence.features["ref_logp"][mask] < -3) and not np.any(sequence.features["value"][mask] == 9.0)
        assert np.all(sequence.features["entropy"][mask] > 5)
    measured = two.group[1].sequences[0].features
    np.testing.assert_array_equal(measured["old_logp"], measured["ref_logp"])  # it brought none
    assert annotate_added([whole], [played], engine, ()) == [whole]


def test_the_surplus_is_of_what_was_played():
    groups = [make_rated(group=make_group(size=1, task=make_task(id=name))) for name in "abcd"]
    added = make_rated(group=make_group(size=1, task=make_task(id="x")))
    assert played_of([*groups, added], groups) == groups
    assert without_surplus([added, *groups], groups, 2) == [added, *groups[:2]]
