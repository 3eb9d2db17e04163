"""What becomes of forced words and of a fork's own part in the gradient, in float64: as if all were plain rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.advantages.mask_shared_prefix import mask_shared_prefix
from handaxe.core.records import Author, Group, PlayedGroup, RatedGroup, ScoredGroup, Scores
from handaxe.core.validation import check_group
from handaxe.credit.group_norm import group_norm
from handaxe.credit.transformed import transformed
from handaxe.engines.local.engine import LocalEngine
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.terms.entropy import entropy
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.rex_rag.behaviour_mixture import behaviour_mixture
from handaxe.papers.rex_rag.resample_with_prefix import resample_with_prefix
from handaxe.papers.thor.positive_nll import positive_nll
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.rollouts.turn_starts import turn_starts
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.rate import annotate

pytestmark = pytest.mark.exact

ROLLOUTS = {
    "probing": resample_with_prefix(correct=outcome(lambda one: 0.0), probes=["hm ", "hm, ", "no "], chance=1.0),
    "forking": forking(at=turn_starts(count=2)),
}
LOSS = policy(
    ratio=token(),
    surrogate=clip(),
    reduction=token_mean(),
    terms=(entropy(coefficient=0.1), positive_nll(coefficient=0.1)),
)


def make_engine(packing="rows"):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=512), seed=3)
    model.module.double()
    return LocalEngine(model, packing=packing)


@pytest.fixture(scope="module")
def groups(dice):
    """By rollout, siblings that share their beginning, with the log-probs that the engine's model finds."""
    return {name: measured(siblings(dice, rollout)) for name, rollout in ROLLOUTS.items()}


def siblings(dice, rollout):
    found = []
    for seed in range(40):
        one = dice.attempt(seed, id=f"t/{seed}")
        made = run_plan(rollout(replace(one, sample=seed)), sample=dice.roll)
        found += made if len(made) > 1 else []
        if len(found) >= 6:
            group = Group(one.task, tuple(found))
            check_group(group)
            return group
    raise AssertionError


def measured(group):
    scored = ScoredGroup(PlayedGroup(group), group, Scores(np.zeros(len(group))))
    return annotate(scored, make_engine(), ["old_logp"]).group


def rated(group, credit):
    scores = Scores(np.arange(len(group)) % 3.0)
    return RatedGroup.of(group, scores, credit(group, scores))


def gradient(one, *, packing="rows", apart=False):
    engine = make_engine(packing)
    batch = make_batch([one], pad_id=engine.pad_id, dtype=torch.float64)
    for piece in [batch.rows(torch.tensor([row])) for row in range(len(batch))] if apart else [batch]:
        engine.forward_backward(piece, LOSS)
    return torch.cat([p.grad.flatten() for p in engine.model.module.parameters() if p.grad is not None])


def same(one, other):
    torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
    assert other.abs().max() > 1e-3


@pytest.mark.parametrize("mixed", [False, True], ids=["measured", "mixed"])
@pytest.mark.parametrize("own", [False, True], ids=["all", "own part"])
@pytest.mark.parametrize("name", ROLLOUTS)
def test_token_trees_and_single_rows_have_the_same_gradient(groups, name, own, mixed):
    one = rated(groups[name], transformed(group_norm(), mask_shared_prefix()) if own else group_norm())
    one = behaviour_mixture()([one])[0] if mixed else one
    apart = gradient(one, apart=True)
    same(gradient(one), apart)
    same(gradient(one, packing="tree"), apart)


@pytest.mark.parametrize("mixed", [False, True], ids=["measured", "mixed"])
def test_forced_tokens_train_as_policy_tokens_of_the_measured_log_prob(groups, mixed):
    one = rated(groups["probing"], group_norm())
    one = behaviour_mixture()([one])[0] if mixed else one
    assert sum(int(sequence.forced.sum()) for t in one.group for sequence in t.sequences) >= 9

    def said(sequence):
        author = np.where(sequence.forced, Author.POLICY, sequence.author)
        return replace(sequence, author=author, logp=sequence.features["old_logp"], features={})

    plain = tuple(replace(t, sequences=tuple(map(said, t.sequences))) for t in one.group)
    same(gradient(one), gradient(one.with_group(replace(one.group, trajectories=plain))))


def test_ratio_at_a_probe_is_policy_over_mixture(groups):
    """Under the weights that were measured: 1 / (1 - a) where nobody probed, pi / ((1 - a) pi + a mu) at a probe."""
    one = rated(groups["probing"], group_norm())
    engine = make_engine()
    clones = [sibling.branch_of is not None for sibling in one.group]
    a = sum(clones) / len(clones)
    batches = [
        make_batch([own], pad_id=engine.pad_id, dtype=torch.float64) for own in (one, *behaviour_mixture()([one]))
    ]
    pi_BT = engine.forward(batches[0])["logp"].double()
    plain_BT, mixed_BT = ((pi_BT - batch.old_logp_BT).exp() for batch in batches)
    mask_BT = batches[0].mask_BT
    torch.testing.assert_close(
        plain_BT[mask_BT], torch.ones(int(mask_BT.sum()), dtype=torch.float64), rtol=1e-4, atol=0
    )
    seen = 0
    for row, sibling in enumerate(one.group):
        (sequence,) = sibling.sequences
        ratio_T = mixed_BT[row, : len(sequence)].numpy()
        if sibling.branch_of is None:
            np.testing.assert_allclose(ratio_T[sequence.mask], 1 / (1 - a), rtol=1e-4)
            continue
        pi, mu = (np.exp(x[sequence.forced]) for x in (pi_BT[row, : len(sequence)].numpy(), sequence.behaviour_logp))
        np.testing.assert_allclose(ratio_T[sequence.forced], pi / ((1 - a) * pi + a * mu), rtol=1e-4)
        assert (ratio_T[sequence.forced] < 0.5).all(), "this policy would hardly have said it"
        seen += int(sequence.forced.sum())
    assert seen >= 9


def test_forced_tokens_use_behaviour_logp_in_the_mixture_and_old_logp_without_it(groups):
    one = rated(groups["probing"], group_norm())

    def with_feature(rated, name, moved):
        def changed(sequence):
            if name == "behaviour_logp":
                return replace(sequence, behaviour_logp=sequence.behaviour_logp + moved * sequence.forced)
            old = sequence.features["old_logp"] + moved * sequence.forced
            return replace(sequence, features={**sequence.features, "old_logp": old})

        made = tuple(replace(t, sequences=tuple(map(changed, t.sequences))) for t in rated.group)
        return rated.with_group(replace(rated.group, trajectories=made))

    def apart(name, mixed):
        other = with_feature(one, name, -1.0)
        found = [behaviour_mixture()([each])[0] if mixed else each for each in (one, other)]
        return (gradient(found[0]) - gradient(found[1])).abs().max()

    assert apart("old_logp", mixed=False) > 1e-3, "the ratio is to what was measured"
    assert apart("behaviour_logp", mixed=False) == 0, "and not to what drew it"
    assert apart("behaviour_logp", mixed=True) > 1e-4


@pytest.mark.parametrize("name", ROLLOUTS)
def test_mask_shared_prefix_equals_a_fork_whose_prefix_is_a_prompt(groups, name):
    """With terms of the loss that are not 0 where the advantage is."""
    credit = transformed(group_norm(), mask_shared_prefix())
    one = rated(groups[name], credit)

    def given(t):
        if t.branch_of is None:
            return t
        (sequence,) = t.sequences
        author = np.where(np.arange(len(sequence)) < t.branch_of.token, Author.TEMPLATE, sequence.author)
        return replace(t, sequences=(replace(sequence, author=author),), branch_of=None)

    group = replace(one.group, trajectories=tuple(map(given, one.group)))
    plain = replace(one.with_group(group), advantages=replace(one.advantages, trains=None))
    same(gradient(one), gradient(plain))
    assert not torch.allclose(gradient(one), gradient(rated(groups[name], group_norm())), atol=1e-6)
