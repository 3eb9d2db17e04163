from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.endings import treatments
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Disposition, Ending, Group, PlayedGroup, Scores
from handaxe.papers.effective_rank.effective_rank_of import effective_rank
from handaxe.selection.parts.dispositions import live
from handaxe.testing.make_records import make_group, make_rated, make_task, make_trajectory
from handaxe.training.loop.rate import (
    FEATURES,
    annotate,
    check_features,
    rate_group,
    score_played,
)
from handaxe.training.loop.select import Selection, annotate_added, live_played
from handaxe.training.record.groups import group_fate


def played(*kinds):
    """A group whose siblings ended so, with ids s0, s1, ..."""
    siblings = []
    for i, kind in enumerate(kinds):
        one = make_trajectory(layouts=["UUt pp tT p"])
        vars(one).update(id=f"s{i}", ending=Ending(kind, "turns" if kind == "truncated" else ""))
        siblings.append(one)
    dead = (Disposition("unscored", "infra_error"),)
    return PlayedGroup(
        Group(siblings[0].task, tuple(siblings)), tuple(dead if kind == "infra_error" else () for kind in kinds)
    )


def score(one, reward, *, retries=1, **on_ending):
    return score_played(one, reward, treatment=treatments(on_ending), retries=retries)


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
    one, reward = played("completed", "infra_error", "truncated"), Counts()
    found = score(one, reward)
    scores = found.scores
    assert found.played is one and reward.scored == ["s0", "s2"]
    assert (
        scores.outcome.tolist() == [10, 20] and len(scores.turns) == 2 and scores.channels["own"].tolist() == [10, 20]
    )


def test_what_the_reward_cannot_decide_is_taken_out_and_the_rest_scored_without_it():
    reward = Counts("s1")
    found = score(played("completed", "completed", "infra_error", "completed"), reward)
    one, scores = found.played, found.scores
    assert scores.outcome.tolist() == [10, 20] and [len(turn) for turn in scores.turns] == [2, 2]
    assert one.scorable.tolist() == [True, False, False, True] and [t.id for t in found.group] == ["s0", "s3"]
    assert [found.place(i) for i in range(4)] == [0, None, None, 1]
    assert [t.ending.kind for t in one.group] == ["completed", "verifier_error", "infra_error", "completed"]
    assert one.dispositions[1] == (Disposition("unscored", "verifier_error"),)
    assert "cannot decide" in one.group[1].ending.reason
    assert reward.scored == ["s0", "s3"]  # its state knows nothing of the attempts that failed
    assert group_fate(found) == "trained"


def test_a_verifier_that_fails_may_be_asked_again():
    reward = Counts("s1", times=1)
    found = score(played("completed", "completed"), reward, verifier_error="retry")
    assert found.scores.outcome.tolist() == [10, 20] and found.played.scorable.all() and reward.scored == ["s0", "s1"]


def test_a_verifier_that_fails_may_drop_the_group():
    one = score(played("completed", "completed"), Counts("s1"), verifier_error="drop_group")
    assert isinstance(one, PlayedGroup) and all(own[-1] == ("dropped", "on_ending") for own in one.dispositions)
    assert group_fate(one) == "dropped" and not one.scorable.any() and one.group[1].ending.kind == "verifier_error"


def test_groups_of_which_nothing_can_be_scored():
    reward, drop = Counts("s0"), (Disposition("dropped", "on_ending"),)
    given = [played("infra_error", "infra_error"), played("completed"), PlayedGroup(played("completed").group, (drop,))]
    dead, undecided, dropped = found = [score(one, reward) for one in given]
    assert dead is given[0] and dropped is given[2] and isinstance(undecided, PlayedGroup)
    assert [group_fate(one) for one in found] == ["unscored", "unscored", "dropped"]
    assert reward.scored == [] and not any(one.scorable.any() for one in found)


def test_outcome_of_nan_is_a_verifier_error():
    found = score(played("completed", "completed"), lambda group: Scores(np.full(len(group), np.nan)))
    assert isinstance(found, PlayedGroup)
    assert found.dispositions == ((Disposition("unscored", "verifier_error"),),) * 2


def test_credit_sees_the_scorable_siblings_alone(world):
    one = played("completed", "infra_error", "truncated").decided({"s2": Disposition("masked", "on_ending")})
    rated = rate_group(score(one, Counts()), world.centred)
    assert [t.id for t in rated.group] == ["s0", "s2"] and rated.trained.tolist() == [True, False]
    mask = rated.group[0].sequences[0].mask
    np.testing.assert_array_equal(rated.advantages.tokens[0][0], np.where(mask, -5.0, 0.0))
    assert rated.played is one and rated.live and rated.dispositions == ((), (Disposition("masked", "on_ending"),))


def test_features_are_what_the_engine_measures_row_by_row(world):
    engine = world.make_engine(critic=True, reference=True)
    found = annotate(score(played("completed", "infra_error", "completed"), Counts()), engine, tuple(FEATURES))
    one = found.played
    assert found.group.trajectories == (one.group[0], one.group[2])
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
    engine, scored = world.make_engine(reference=True), score(played("completed"), Counts())
    one = annotate(scored, engine, ("old_logp", effective_rank(stride=1), "ref_logp"))
    other = annotate(scored, engine, ("old_logp",))
    features, mask = one.group[0].sequences[0].features, one.group[0].sequences[0].mask
    assert set(features) == {"old_logp", "effective_rank", "ref_logp"}
    np.testing.assert_allclose(features["old_logp"], other.group[0].sequences[0].features["old_logp"], rtol=1e-5)
    rank_P = features["effective_rank"][mask]
    assert not features["effective_rank"][~mask].any() and rank_P[0] == pytest.approx(1.0)
    assert np.all(rank_P <= np.arange(1, len(rank_P) + 1) + 1e-4) and rank_P[-1] > 1.1
    check_features((effective_rank(), "old_logp"))
    with pytest.raises(InputError, match="two measures have the name effective_rank"):
        annotate(scored, engine, (effective_rank(), effective_rank(stride=2)))
    with pytest.raises(InputError, match=r"whole returned shape \(\) for .* tokens"):
        annotate(scored, engine, (_Whole(),))


class _Whole:
    """One number for a whole row."""

    name = "whole"

    def __call__(self, hidden_PD):
        return hidden_PD.norm()


@pytest.mark.parametrize("others", [["completed"], []])
def test_a_sequence_without_a_sampled_token_is_not_measured(world, others):
    """Such as a prompt of 200 ids for a model that reads 96."""
    one = played(*others, "truncated")
    long = make_trajectory(layouts=["U" * 200])
    vars(long).update(id="long", ending=Ending("truncated", "length"))
    one = PlayedGroup(Group(one.group.task, (*one.group.trajectories[:-1], long)))
    one = annotate(score(one, Counts()), world.make_engine(), ("old_logp", "entropy"))
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
    a, b, c, d, e, f, g, h = (make_rated(group=make_group(size=1, task=make_task(id=name))) for name in "abcdefgh")
    select([a, b, c])
    again = Selection(select, 9)
    assert live(again([d, e, f, g])) == [e, g] and live(again([d, e, f, g, h])) == [e, g] and select.seen == 8
    assert Selection(list, 9)([a, b]) == [a, b]


def test_what_a_selector_adds_is_measured_as_fresh_ones_are_but_for_its_old_logp(world):
    engine = world.make_engine(critic=True, reference=True)
    fresh = make_rated(group=make_group(size=2))
    stored, bare = make_trajectory(features={"old_logp": -7.0, "value": 9.0}), make_trajectory()
    whole = make_rated(group=make_group(trajectories=[stored, bare], task=make_task(id="other")))
    mixed = fresh.with_group(replace(fresh.group, trajectories=(fresh.group[0], whole.group[0])))
    names = ("old_logp", "ref_logp", "value", "entropy")
    one, two, three = annotate_added([fresh, whole, mixed], [fresh], engine, names)
    assert one is fresh and three.group[0] is fresh.group[0]
    for found in (two.group[0], three.group[1]):
        sequence = found.sequences[0]
        mask = sequence.mask
        np.testing.assert_array_equal(sequence.features["old_logp"][mask], -7.0)
        assert np.all(sequence.features["ref_logp"][mask] < -3) and not np.any(sequence.features["value"][mask] == 9.0)
        assert np.all(sequence.features["entropy"][mask] > 5)
    measured = two.group[1].sequences[0].features
    np.testing.assert_array_equal(measured["old_logp"], measured["ref_logp"])  # it brought none
    assert annotate_added([whole], [fresh], engine, ()) == [whole]


def test_the_surplus_is_of_what_was_played():
    groups = [make_rated(group=make_group(size=1, task=make_task(id=name))) for name in "abcd"]
    added = make_rated(group=make_group(size=1, task=make_task(id="x")))
    assert live_played([*groups, added], groups) == groups
    selection = Selection(list, 2)
    cut = selection.without_surplus([added, *groups], groups)
    assert cut[:3] == [added, *groups[:2]] and not any(one.live or one.trained.any() for one in cut[3:])
    assert [one.dispositions[0][-1] for one in cut[3:]] == [Disposition("surplus", "rounds")] * 2
    assert Selection(list, None).without_surplus(groups, groups) == groups
