"""Engines with one fault each, and the messages of `check_engine`."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.engine_contract import check_engine

CONFIG = TinyConfig(vocab_size=20, width=8, layers=1, heads=2, max_length=18)


def make_model(config=CONFIG):
    model = TinyModel(TinyModel.new(config, seed=2).module, pad_id=3)
    with torch.no_grad():
        model.module.embed.weight.mul_(8)  # sharp enough for greedy and temperature to show
    return model


def check(kind, folder, **options):
    return check_engine(lambda: kind(make_model()), make_model, folder=folder, **options)


def test_good_engine_passes(tmp_path):
    weights = lambda engine: dict(engine.model.module.named_parameters())  # noqa: E731
    names = check(LocalEngine, tmp_path / "a")
    assert names == check(LocalEngine, tmp_path / "b", weights=weights)
    assert names[:7] == ["measures", "hidden_states", "sampled_logp", "seeds", "endings", "greedy", "limits"]
    assert names[7:13] == ["gradient", "splits", "step", "bad_loss", "checkpoint", "damaged_checkpoint"]
    assert names[13:] == ["joining", "interrupting", "prefixes", "new_weights", "refusals"]


@pytest.mark.slow
def test_good_engine_of_a_model_with_grouped_queries_passes(tmp_path):
    grouped = partial(make_model, replace(CONFIG, width=16, heads=4, kv_heads=2))
    check_engine(lambda: LocalEngine(grouped()), grouped, folder=tmp_path)


def test_engine_without_streams_passes(tmp_path):
    class Batches(LocalEngine):
        stream = None

        def sample(self, requests):
            other = LocalEngine(self.model)
            other.version = self.version
            return other.sample(requests)

    names = check_engine(lambda: Batches(make_model()), make_model, folder=tmp_path)
    assert names[-1] == "damaged_checkpoint"


class Unshifted(LocalEngine):
    def forward(self, batch, **options):
        return {name: value.roll(-1, 1) for name, value in super().forward(batch, **options).items()}


class NoTemperature(LocalEngine):
    def forward(self, batch, **options):
        batch.temperature_B[:] = 1.0
        return super().forward(batch, **options)


class MeasuresPrompts(LocalEngine):
    def forward(self, batch, **options):
        return super().forward(replace(batch, mask_BT=batch.attend_BT), **options)


class StatesBefore(LocalEngine):
    """Hidden states of the token before."""

    def forward(self, batch, **options):
        out = super().forward(batch, **options)
        if "norms" not in out:
            return out
        before = super().forward(replace(batch, mask_BT=batch.mask_BT.roll(-1, 1)), **options)
        return {name: value if name == "logp" else before[name].roll(1, 1) for name, value in out.items()}


class Dropout(LocalEngine):
    calls = 0

    def forward(self, batch, **options):
        self.calls += 1
        return {k: v + 1e-7 * self.calls * batch.attend_BT for k, v in super().forward(batch, **options).items()}


class Sampler(LocalEngine):
    """Changes requests or completions."""

    def before(self, requests):
        return requests

    def after(self, requests, done):
        return done

    def sample(self, requests):
        return [self.after(*pair) for pair in zip(requests, super().sample(self.before(requests)))]


class CutLogp(Sampler):
    def after(self, request, done):
        return done._replace(logp=done.behaviour_logp)


class BelowLogp(Sampler):
    def after(self, request, done):
        return done._replace(behaviour_logp=[x - 0.1 for x in done.behaviour_logp])


class SeedByPlace(Sampler):
    def before(self, requests):
        return [r._replace(seed=place) for place, r in enumerate(requests)]


class OneSeed(Sampler):
    def before(self, requests):
        return [r._replace(seed=7) for r in requests]


class DropsStop(Sampler):
    def after(self, request, done):
        return done if done.finish == "length" else done._replace(ids=done.ids[:-1])


class HeaderIsStop(Sampler):
    def before(self, requests):
        return [r._replace(stop=r.stop | r.header) for r in requests]


class NeverGreedy(Sampler):
    def before(self, requests):
        return [r._replace(sampling=r.sampling.__class__(3.0, 1.0, 0, r.sampling.max_tokens)) for r in requests]


class GreedyLogp(Sampler):
    def after(self, request, done):
        return done if request.sampling.temperature else done._replace(logp=[0.0] * len(done.ids))


class Crops(Sampler):
    def before(self, requests):
        return [r._replace(ids=r.ids[: self.max_length - 1]) for r in requests]


class OneRoom(Sampler):
    def before(self, requests):
        room = self.max_length - max((len(r.ids) for r in requests), default=0)
        if room <= 0:
            raise InputError("too long")
        return [
            r._replace(
                sampling=r.sampling.__class__(r.sampling.temperature, max_tokens=min(room, r.sampling.max_tokens))
            )
            for r in requests
        ]


@pytest.mark.parametrize(
    "kind, words",
    [
        (Unshifted, "forward's logp is off"),
        (MeasuresPrompts, "forward's logp is off"),
        (StatesBefore, "a measure of hidden states"),
        (NoTemperature, "forward's logp is off"),
        (Dropout, "two forwards of the same batch differ"),
        (CutLogp, "logp sampled at temperature 0.7, top_p 0.8 is off"),
        (BelowLogp, "behaviour_logp is below logp"),
        (SeedByPlace, "the order of the requests"),
        (OneSeed, "the seed changes nothing"),
        (DropsStop, "must be kept and end it as stop"),
        (HeaderIsStop, "must be kept and end it as header"),
        (NeverGreedy, "is off|is likelier"),
        (GreedyLogp, "a greedy token's logp"),
        (Crops, "must be refused with InputError"),
        (OneRoom, "cut another request short"),
    ],
)
def test_fault_in_sampling_or_measuring_raises(tmp_path, kind, words):
    with pytest.raises(AssertionError, match=words):
        check(kind, tmp_path)
