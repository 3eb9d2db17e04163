"""Streams with one fault each, and the messages of the stream checks."""

from dataclasses import replace

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.requests import Partial
from handaxe.engines.local.continuous_batching import SlotStream
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing import engine_streams
from handaxe.testing.engine_case import EngineCase

CONFIG = TinyConfig(vocab_size=20, width=16, layers=1, heads=2, max_length=22)
CHECKS = {name: getattr(engine_streams, name) for name in engine_streams.__all__}
LOSING = CHECKS.pop("check_lost_sampler")


def make_model():
    model = TinyModel(TinyModel.new(CONFIG, seed=2).module, pad_id=3)
    with torch.no_grad():
        model.module.embed.weight.mul_(8)
    return model


def case_of(kind, folder):
    class Engine(LocalEngine):
        def stream(self):
            options = {"version": lambda: self.version, "max_rows": 4, "prefix_cache_tokens": 100}
            return kind(self.model, self.model.slots(), **options)

        def sample(self, requests):  # in a good stream, so that only the stream is broken
            return LocalEngine.sample(LocalEngine(self.model), requests) if self.version == 0 else self._good(requests)

        def _good(self, requests):
            good = LocalEngine(self.model)
            good.version = self.version
            return good.sample(requests)

    return EngineCase(lambda: Engine(make_model()), make_model, folder, 1e-5, None, None, False)


@pytest.mark.slow
def test_good_stream_passes(tmp_path):
    for check in CHECKS.values():
        check(case_of(SlotStream, tmp_path))


def test_lost_sampler_with_new_seed_raises(tmp_path):
    class Loses(SlotStream):
        """Restarted requests get another seed."""

        def begin_anew(self):
            for slot in self._slots:
                if slot.row is not None:
                    slot.row.uniforms = [1 - u for u in slot.row.uniforms]

    streams = []

    class Kept(Loses):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            streams.append(self)

    LOSING(replace(case_of(SlotStream, tmp_path), kill=lambda engine: None))
    with pytest.raises(AssertionError, match="whose sampler may have died"):
        LOSING(replace(case_of(Kept, tmp_path), kill=lambda engine: streams[-1].begin_anew()))


class SeedByTicket(SlotStream):
    def submit(self, request):
        return super().submit(request._replace(seed=self._tickets))


class TicketsFromOne(SlotStream):
    def submit(self, request):
        return super().submit(request) + 1


class Unsorted(SlotStream):
    def poll(self, wait=0.0):
        return super().poll(wait)[::-1]


class Miscounted(SlotStream):
    def __len__(self):
        return len(self._waiting)


class StartsOver(SlotStream):
    def submit(self, request):
        return super().submit(request._replace(prefix=None))


class ForgetsBegun(SlotStream):
    def interrupt(self, ticket):
        super().interrupt(ticket)
        return Partial([], [], [], [])


class WrongPrefix(SlotStream):
    """Stores the keys and values of a row in reverse."""

    def _cache_prefix(self, index):
        take = self._cache.take
        self._cache.take = lambda *span: [part.flip(-2) for part in take(*span)]
        super()._cache_prefix(index)
        self._cache.take = take


class OldKeys(SlotStream):
    def _follow_weights(self):
        self._weights = self._weights_stamp()


class OldVersion(SlotStream):
    def poll(self, wait=0.0):
        return [(ticket, done._replace(version=[0] * len(done.ids))) for ticket, done in super().poll(wait)]


class TakesAnything(SlotStream):
    def interrupt(self, ticket):
        try:
            return super().interrupt(ticket)
        except InputError:
            return Partial([], [], [], [])


class NeverCloses(SlotStream):
    def close(self):
        pass


@pytest.mark.parametrize(
    "kind, check, words",
    [
        (SeedByTicket, "check_joining", "joined between two tokens"),
        (TicketsFromOne, "check_joining", "tickets count from 0"),
        (Unsorted, "check_joining", "in order of ticket"),
        (Miscounted, "check_joining", "counts the requests"),
        (StartsOver, "check_interrupting", "has what it began with"),
        (ForgetsBegun, "check_interrupting", "has one token more after a poll"),
        (WrongPrefix, "check_prefixes", "begins as others did"),
        (OldKeys, "check_new_weights", "begins after a step|is off"),
        (OldVersion, "check_new_weights", "has versions|is off"),
        (TakesAnything, "check_refusals", "must be refused"),
        (NeverCloses, "check_refusals", "closed stream"),
    ],
)
def test_broken_stream_raises(tmp_path, kind, check, words):
    with pytest.raises(AssertionError, match=words):
        CHECKS[check](case_of(kind, tmp_path))
