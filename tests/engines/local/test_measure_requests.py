"""Measures of given ids equal those of a loop over prefixes of the model's logits."""

import pytest
import torch
from helpers.image_records import noise
from helpers.vision_policy import vision_model

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=20)
IDS = [1, 2, 3, 4, 5, 6, 7]


@pytest.fixture
def engine():
    model = TinyModel.new(CONFIG, seed=1).module.to(torch.float64)
    return LocalEngine(TinyModel(model, pad_id=0), reference=True)


def prefix_loop(engine, ids, start, temperature):
    """[(log-prob, entropy, collision)] of each token of ids[start:], one prefix at a time."""
    out = []
    for t in range(start, len(ids)):
        with torch.no_grad():
            ids_BT = torch.tensor([ids[:t]])
            logits_V = engine.model.head(engine.model.hidden(ids_BT, torch.ones_like(ids_BT, dtype=torch.bool)))[0, -1]
        logp_V = (logits_V / temperature).log_softmax(0)
        p_V = logp_V.exp()
        out.append((logp_V[ids[t]].item(), -(p_V * logp_V).sum().item(), (p_V**2).sum().item()))
    return out


@pytest.mark.parametrize("start, temperature", [(1, 1.0), (3, 0.7), (6, 2.0)])
def test_measures_equal_a_loop_over_prefixes(engine, start, temperature):
    names = ("logp", "entropy", "collision")
    (found,) = engine.measure([Measure(IDS, start, names, temperature)])
    for name, column in zip(names, zip(*prefix_loop(engine, IDS, start, temperature))):
        assert found[name] == pytest.approx(column, abs=1e-7)  # a temperature is a float32


def test_measures_do_not_depend_on_other_requests(engine):
    measures = [
        Measure(IDS, 2),
        Measure(IDS[:3], 1, ("entropy",)),
        Measure(IDS[::-1], 4),
        Measure(IDS, 2, reference=True),
    ]
    together = engine.measure(measures)
    for one, found in zip(measures, together):
        (alone,) = engine.measure([one])
        assert list(found) == list(one.names)
        for name in one.names:
            assert found[name] == pytest.approx(alone[name], abs=1e-12)
    assert engine.measure([]) == []


def test_measured_log_probs_equal_sampled_log_probs(engine):
    (sampled,) = engine.sample([Sample(IDS, Sampling(temperature=0.8, max_tokens=6), 7, frozenset())])
    (found,) = engine.measure([Measure([*IDS, *sampled.ids], len(IDS), temperature=0.8)])
    assert found["logp"] == pytest.approx(sampled.logp, abs=1e-6)


@pytest.mark.parametrize(
    "request_",
    [Measure(IDS, 0), Measure(IDS, 7), Measure(IDS * 4, 1), Measure(IDS, 1, temperature=0.0), Measure([], 1)],
)
def test_invalid_measure_raises_input_error(engine, request_):
    with pytest.raises(InputError, match="cannot measure"):
        engine.measure([request_])


def test_value_and_unknown_names_are_refused(engine):
    with pytest.raises(InputError, match="not value"):
        engine.measure([Measure(IDS, 1, ("value",))])
    with pytest.raises(InputError, match="not surprise"):
        engine.measure([Measure(IDS, 1, ("surprise",))])


def test_equal_requests_have_equal_keys():
    assert Measure(IDS, 1).key == Measure(tuple(IDS), 1).key
    others = [Measure(IDS, 2), Measure(IDS[1:], 1), Measure(IDS, 1, ("entropy",)), Measure(IDS, 1, temperature=0.5)]
    assert len({one.key for one in (*others, Measure(IDS, 1), Measure(IDS, 1, reference=True))}) == 6


@pytest.mark.exact
def test_requests_with_images_are_measured_together_and_alone():
    engine = LocalEngine(vision_model())
    one = noise(0, 16, 16)
    other = noise(1, 16, 16)
    requests = [
        Measure([1, *one.ids(4), 2, 3], 5, images=(one,)),
        Measure([1, *other.ids(4), 2, 3], 5, images=(other, one)),
        Measure([1, *one.ids(4), 2, 3], 5, images=(one,)),
        Measure([1, 2, 3], 1),
    ]
    together = engine.measure(requests)
    alone = [engine.measure([request])[0] for request in requests]
    assert [one["logp"] for one in together] == [pytest.approx(one["logp"], abs=1e-12) for one in alone]
    assert together[0] == together[2] and together[0]["logp"] != pytest.approx(together[1]["logp"], abs=1e-4)
    with pytest.raises(InputError, match="image tokens, and Batch.images is empty"):
        engine.measure([requests[0]._replace(images=())])
