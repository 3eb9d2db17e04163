from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Branch
from handaxe.papers.rex_rag.behaviour_mixture import behaviour_mixture
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_trajectory

CONTRACT = [{}, {"weight": 0.5, "error": "batch"}]
FILTERS = False  # it replaces attempts by themselves with another old_logp


def first(number, *, pi=0.2):
    """One that played to its end on its own: policy tokens at 2, 3 and 6."""
    return make_trajectory(layouts=["Ut pp Tt p"], id=f"t/{number}", features={"old_logp": log(pi)})


def clone(number, *, pi=0.2, mu=(1.0, 0.5)):
    """One that left t/NUMBER at token 6, with two forced words there and a word of its own after them."""
    one = make_trajectory(layouts=["Ut pp Tt ffp"], id=f"t/{number}/probed", features={"old_logp": log(pi)})
    (sequence,) = one.sequences
    drawn = sequence.behaviour_logp.copy()
    drawn[sequence.forced] = np.log(mu)
    return replace(one, branch_of=Branch(f"t/{number}", 0, 6), sequences=(replace(sequence, behaviour_logp=drawn),))


def batch(members, outcome, *, trained=None):
    group = make_group(trajectories=members)
    return make_rated(group=group, scores=make_scores(outcome), trained=trained)


def ratios(one, pi):
    """pi / exp(old) at the tokens of the mask of each sibling's first sequence."""
    return [pi / np.exp(t.sequences[0].features["old_logp"][t.sequences[0].mask]) for t in one.group]


def test_old_logp_of_a_token_equals_the_worked_example():
    """Nine first attempts and a clone: a is 0.1."""
    (found,) = behaviour_mixture()([batch([*(first(n) for n in range(9)), clone(0)], [0.0] * 10)])
    old = [t.sequences[0].features["old_logp"] for t in found.group]
    assert old[0][2] == pytest.approx(log(0.18)) == pytest.approx(-1.7148, abs=5e-5)
    assert old[9][6] == pytest.approx(log(0.28)) == pytest.approx(-1.2730, abs=5e-5)
    now = ratios(found, 0.3)
    np.testing.assert_allclose(now[0], 1.6667, atol=5e-5)
    assert now[9][2] == pytest.approx(1.0714, abs=5e-5) and now[9][4] == pytest.approx(1.5), "what follows is pi's own"
    assert old[9][7] == pytest.approx(log(0.9 * 0.2 + 0.1 * 0.5))
    assert not old[9][[0, 1, 4, 5]].any()


def test_the_prefix_of_a_clone_equals_the_worked_example():
    """err 0.5 over two tokens; where clones alone train, nothing but mu is in the mixture."""
    one = batch([first(0), first(1), clone(0)], [0.0, 1.0, 1.0], trained=[False, False, True])
    (found,) = behaviour_mixture()([one])
    old = found.group[2].sequences[0].features["old_logp"]
    assert np.exp(old[2]) == pytest.approx(0.2 / 0.7071, abs=5e-5)
    assert np.exp(old[2] + old[3]) == pytest.approx(0.2 * 0.2 / 0.5)
    np.testing.assert_array_equal(found.group[0].sequences[0].features["old_logp"][[2, 3]], [log(0.2)] * 2)


@pytest.mark.parametrize("error", ["group", "batch"])
@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_behaviour_mixture_equals_a_slow_loop(weight, error):
    groups = [
        batch([first(0), first(1), clone(1)], [1.0, 0.0, 1.0]),
        batch([first(0, pi=0.6), first(1), first(2), clone(2, mu=(0.25, 0.1)), clone(1)], [0.0, 0.0, 1.0, 0.0, 0.0]),
        batch([first(0), first(1)], [1.0, 1.0], trained=[True, False]),
    ]
    found = behaviour_mixture(weight=weight, error=error)(groups)
    a = weight * 3 / 9
    shares = {"group": [1 / 2, 2 / 3, 1 / 2], "batch": [3 / 7] * 3}[error]
    for one, now, err in zip(groups, found, shares, strict=True):
        for before, after in zip(one.group, now.group, strict=True):
            sequence, old = before.sequences[0], after.sequences[0].features["old_logp"]
            for t in np.flatnonzero(sequence.mask):
                pi = exp(sequence.features["old_logp"][t])
                mu = 0.0
                if before.branch_of is not None:
                    mu = pi / err ** (1 / 2) if t < 6 else pi
                    mu = exp(sequence.behaviour_logp[t]) if sequence.author[t] == Author.FORCED else mu
                assert exp(old[t]) == pytest.approx((1 - a) * pi + a * mu)


def test_ratios_of_a_bandit_average_to_one_under_the_mixture():
    """Two arms that pi and mu know: drawn from the mixture, the weights of any other policy sum to 1, and the gradient
    of the weighted reward is the exact one."""
    pi, mu, now, reward = np.array([0.7, 0.3]), np.array([0.1, 0.9]), np.array([0.55, 0.45]), np.array([1.0, 3.0])
    a, others = 0.25, [first(n) for n in range(3)]
    mixed = []
    for arm in range(2):
        one = clone(0, pi=pi[arm], mu=(mu[arm], mu[arm]))
        (found,) = behaviour_mixture()([batch([*others, one], [0.0] * 4)])
        mixed.append(exp(found.group[3].sequences[0].features["old_logp"][6]))
    drawn = (1 - a) * pi + a * mu
    weights = now / np.array(mixed)
    assert (drawn * weights).sum() == pytest.approx(1.0)
    slope = np.array([1 - now[0], -now[0]])  # of log now, by the logit of arm 0
    exact = now[0] * now[1] * (reward[0] - reward[1])
    assert (drawn * weights * slope * reward).sum() == pytest.approx(exact)


def test_the_ratio_of_an_unlikely_forced_word_is_small():
    one = batch([*(first(n) for n in range(4)), clone(0, pi=1e-6, mu=(0.25, 1.0))], [0.0] * 5)
    (found,) = behaviour_mixture()([one])
    assert ratios(found, 1e-6)[4][2] == pytest.approx(1e-6 / (0.2 * 0.25), rel=1e-4)
    (measured,) = behaviour_mixture(weight=0.0)([one])
    assert ratios(measured, 1e-6)[4][2] == pytest.approx(1.0)


def test_batches_without_trained_clones_are_unchanged():
    for one in (
        batch([first(0), first(1)], [0.0, 1.0]),
        batch([first(0), clone(0)], [0.0, 1.0], trained=[True, False]),
    ):
        (found,) = behaviour_mixture()([one])
        assert found is one
    assert behaviour_mixture()([]) == []


def test_a_group_without_wrong_rollouts_counts_as_one_wrong():
    """The clone's own may have been left out, as a verifier died over it."""
    (found,) = behaviour_mixture()([batch([first(1), first(2), clone(0)], [1.0, np.nan, 1.0])])
    old = found.group[2].sequences[0].features["old_logp"]
    assert np.exp(old[2]) == pytest.approx(0.2 * (2 / 3 + 1 / 3))


def test_forced_words_without_old_logp_are_refused():
    one = make_trajectory(layouts=["Ut pp Tt ffp"], id="t/0/probed")
    one = replace(one, branch_of=Branch("t/0", 0, 6))
    with pytest.raises(InputError, match="annotate="):
        behaviour_mixture()([batch([first(0), one], [0.0, 1.0])])


@pytest.mark.parametrize("knobs", [{"weight": -0.1}, {"weight": 1.1}, {"error": "run"}])
def test_behaviour_mixture_refuses_bad_arguments(knobs):
    with pytest.raises(InputError, match="behaviour_mixture has"):
        behaviour_mixture(**knobs)
