"""Every loss and part of a loss, found by `helpers.contract`, goes through `check_loss` and the house's form.

A newcomer's file is tested by being there. Its own test may say (see helpers.contract)

    EXAMPLE = {"length": 8}     the arguments that have no default
    TOGETHER = "rollouts"       which rows must stay in one micro-batch: those of "rollouts", of "pairs", of
                                "groups" or "everything"
    BATCH = make                seed -> the batches that it needs
"""

import inspect
import math
import sys
from dataclasses import replace

import pytest
import torch
from helpers import contract

from handaxe.core.heads import Head
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.loss_grad import loss_grad
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.batches import RANDOM_HEADS, random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import check_loss, differentiate

TOGETHER = {
    "rollouts": lambda batch: batch.rollout_B,
    "pairs": lambda batch: batch.rollout_B // 2,
    "groups": lambda batch: batch.group_B,
    "everything": lambda batch: torch.zeros_like(batch.rollout_B),
    None: None,
}


def own(name, what, otherwise=None):
    return contract.own(name, what, otherwise)


def ragged(seed):
    """In every second batch some tokens of the policy do not train."""
    return random_batch(seed, left_out=0.3 if seed % 2 == 0 else 0.0)


KINDS = ("Adjustment", "Correction", "Loss", "Ratio", "Reduction", "Surrogate", "Term")


def found():
    return sorted(name for kind in KINDS for name in contract.mechanisms(kind) if name != "losses.policy")


def factory(name):
    made = contract.factory(name)
    module = sys.modules[made.__module__]
    assert module.__all__ == [name.rpartition(".")[2]], f"{name}: one public factory, with the file's name"
    return made


def as_loss(name, **arguments):
    """The mechanism in a whole loss, by the mechanism's folder."""
    made = factory(name)(**(own(name, "EXAMPLE", {}) | arguments))
    parts = {"ratio": token(), "surrogate": clip(), "reduction": token_mean()}
    match contract.kinds()[name]:
        case "Ratio":
            return policy(**parts | {"ratio": made})
        case "Surrogate":
            return policy(**parts | {"surrogate": made})
        case "Reduction":
            return policy(**parts | {"reduction": made})
        case "Correction":
            return policy(**parts, correction=made)
        case "Adjustment":
            return policy(**parts, adjustments=[made])
        case "Term":
            return policy(**parts, terms=[made])
        case _:
            return made


def test_mechanisms_are_found():
    assert len(found()) >= 20


@pytest.mark.parametrize("name", found())
def test_loss_keeps_the_contract(name):
    make = own(name, "BATCH", ragged)
    for seed in (1, 2):
        check_loss(as_loss(name), together=TOGETHER[own(name, "TOGETHER")], batch=make(seed))


@pytest.mark.parametrize("name", found())
def test_loss_has_keyword_options_and_a_full_docstring(name):
    made = factory(name)
    kinds = {parameter.kind for parameter in inspect.signature(made).parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY}, "knobs are keyword-only"
    text = inspect.getdoc(made)
    for part in ("Returns:", "Example:", "Differs:"):
        assert part in text, f"the docstring lacks {part}"
    assert "Paper:" in text or "Idea:" in text


VARIANTS = [
    ("losses.ratios.sequence", {"mean": False}, "rollouts"),
    ("losses.ratios.turn", {"mean": False}, None),
    ("losses.ratios.unit_ratio", {"unit": "turn"}, None),
    ("losses.ratios.unit_ratio", {"unit": "rollout"}, "rollouts"),
    ("losses.ratios.sequence", {"per_row": True}, None),
    ("losses.ratios.sequence_token", {"per_row": True}, None),
    ("losses.surrogates.truncated", {"eps_low": 0.2}, None),
    ("losses.reductions.constant_length", {"per_rollout": False}, None),
    ("losses.reductions.turn_mean", {"per_rollout": True}, None),
    ("losses.corrections.tis", {"unit": "rollout"}, "rollouts"),
    ("losses.corrections.tis", {"unit": "turn"}, None),
    ("losses.corrections.mis", {"unit": "rollout"}, "rollouts"),
    ("losses.corrections.mis", {"unit": "turn"}, None),
    ("losses.corrections.mis", {"weigh": False}, None),
    ("losses.covariance.clip_cov", {"fraction": 0.1, "low": 0.1, "clip_range": (0.2, 0.2)}, "everything"),
    ("losses.covariance.kl_cov", {"fraction": 0.2}, "everything"),
    ("losses.dpo", {"steps": "mean"}, "pairs"),
    ("losses.terms.kl", {"clamp": None, "ceiling": None, "reduction": rollout_mean()}, None),
    ("papers.llds.keep_likelihood", {"gate": "rollout"}, "rollouts"),
    ("papers.llds.keep_likelihood", {"last": 0.0}, "rollouts"),
    ("losses.terms.value", {"eps": None}, None),
]


@pytest.mark.parametrize(("name", "arguments", "together"), VARIANTS)
def test_variants_keep_the_contract(name, arguments, together):
    batch = own(name, "BATCH", lambda seed: None)(1)
    check_loss(as_loss(name, **arguments), together=TOGETHER[together], batch=batch)


OF_THEIR_OWN = {n for n in found() if own(n, "BATCH")}
SPLIT_SAFE = sorted(set(found()) - OF_THEIR_OWN - {n for n in found() if own(n, "TOGETHER") == "everything"})


@pytest.mark.parametrize("name", SPLIT_SAFE)
def test_the_split_of_a_rollout_into_rows_has_no_effect(name):
    """One rollout of turns (2 and 3 tokens) in one row, or each turn in its own row: the loss is the same."""
    loss, logp = as_loss(name), [-0.5, -0.7, -0.9, -0.2, -1.1]
    adv, old = [1.0, -0.4, 0.3, 2.0, 0.6], [-0.6, -0.5, -1.3, -0.2, -0.9]
    ref = [-0.5, -0.9, -1.0, -0.1, -1.2]
    behaviour = [-0.7, -0.6, -1.0, -0.1, -1.0]

    def both(cut):
        def rows(numbers):
            return [numbers[:2], numbers[2:], [0.5]] if cut else [[*numbers[:2], None, *numbers[2:]], [0.5]]

        batch = small_batch(
            rows(adv),
            old=rows(old),
            behaviour=rows(behaviour),
            turn=rows([0, 0, 1, 1, 1]),
            rollout=[0, 0, 1] if cut else [0, 1],
            extras={"ref_logp": rows(ref), "value": rows(adv), "returns": rows(old)},
        )
        out = small_policy(batch, rows(logp), entropy=rows(ref), value=rows(logp))
        found = differentiate(loss, out, batch)
        return found, {key: gradient[batch.mask_BT] for key, gradient in found.gradients.items()}

    (one, one_gradients), (two, two_gradients) = both(False), both(True)
    assert two.value == pytest.approx(one.value, abs=1e-12)
    assert two.metrics == pytest.approx(one.metrics, abs=1e-12)
    for key, gradient in one_gradients.items():
        torch.testing.assert_close(two_gradients[key], gradient, atol=1e-12, rtol=0)


def test_every_metric_is_finite_on_a_far_policy():
    """Log-ratios of hundreds of nats must not overflow."""
    batch = random_batch(0)
    for name in found():
        if name in OF_THEIR_OWN:
            continue
        result = differentiate(as_loss(name), random_policy(batch, 0, drift=300.0), batch)
        assert math.isfinite(result.value), name
        assert all(math.isfinite(number) for number in result.metrics.values()), name
        assert all(gradient.isfinite().all() for gradient in result.gradients.values()), name


@pytest.mark.parametrize("name", found())
def test_loss_grad_equals_the_gradients(name):
    """What ranks go backward from, for coupled rows too."""
    for seed in (1, 2):
        batch = own(name, "BATCH", ragged)(seed)
        out = random_policy(batch, seed)
        want = differentiate(as_loss(name), out, batch)
        entropy_BT = out.entropy()
        found, slope = loss_grad(
            as_loss(name),
            batch,
            logp_BT=out.logp_BT,
            entropy=lambda: entropy_BT,
            value_BT=out.value_BT,
            heads=out.heads,
        )
        assert found.value.item() == want.value and found.metrics == want.metrics
        for kind, gradient_BT in want.gradients.items():
            got_BT = slope.get(kind, torch.zeros_like(gradient_BT))
            torch.testing.assert_close(got_BT, gradient_BT, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", found())
def test_token_trees_give_the_loss_and_gradient_of_rows(name):
    batch = own(name, "BATCH", random_batch)(3)
    batch = replace(batch, ids_BT=batch.ids_BT % 2)  # rows share prefixes, also such as train in several of them
    loss, found = as_loss(name), []
    for packing in ("tree", "rows"):
        model = TinyModel.new(TinyConfig(vocab_size=50, width=16, layers=2, heads=2, max_length=64))
        model.module.double()
        heads = {name: Head(outputs, init="normal") for name, outputs in RANDOM_HEADS.items()}
        engine = LocalEngine(model, packing=packing, critic=True, heads=heads)
        torch.nn.init.constant_(engine._critic.weight, 0.1)  # which starts at 0, and then sends no gradient back
        near_BT = engine.forward(batch)["logp"] - 0.01  # far from it, corrections veto everything
        out = engine.forward_backward(replace(batch, old_logp_BT=near_BT, behaviour_logp_BT=near_BT), loss)
        gradient = torch.cat([p.grad.flatten() for p in model.module.parameters()])
        found.append((out.value, torch.tensor(list(out.metrics.values())), gradient))
    for got, want in zip(*found):
        torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-10 * max(1.0, float(want.abs().max())))
    assert found[0][2].abs().max() > 0
