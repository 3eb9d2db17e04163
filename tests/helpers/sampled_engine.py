"""A LocalEngine sampled by small servers, shared by the tests of servers."""

import torch

from handaxe.core.model_api import VisionModel
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.servers import VllmServers
from handaxe.engines.vllm.weight_transfer import ServedPolicy, served_weights
from handaxe.models.tiny import TinyConfig, TinyModel
from helpers.small_vllm import SmallVllm

CONFIG = TinyConfig(vocab_size=20, width=8, layers=1, heads=2, max_length=18)


def make_model(seed=2):
    model = TinyModel(TinyModel.new(CONFIG, seed=seed).module, pad_id=3)
    with torch.no_grad():
        model.module.embed.weight.mul_(8)
    return model


def requests(count, **fields):
    samples = [Sample([1 + k % 3, 2, 3], Sampling(max_tokens=10), k, frozenset()) for k in range(count)]
    return [sample._replace(**fields) for sample in samples]


class Sampled(LocalEngine):
    """A LocalEngine sampled by small servers."""

    def __init__(self, model, launch=None, count=1, **options):
        super().__init__(model)
        self.policy = ServedPolicy(
            version=lambda: self.version,
            stamp=lambda: (self.version, sum(p._version for p in model.module.parameters())),
            gather=lambda: served_weights(model.module),
            score=lambda ids, start=1, images=(): self.measure([Measure(ids, start, images=images)])[0]["logp"],
            vocab_size=model.vocab_size,
            max_length=model.max_length,
            model=model if isinstance(model, VisionModel) else None,
        )
        self.started = []
        # A server starts with other weights, so that nothing works without a push.
        launch = launch or (lambda number, folder: SmallVllm(make_model(seed=77), pace=0.002))

        def recorded(number, folder):
            self.started.append(launch(number, folder))
            return self.started[-1]

        options = {"start_servers": count, "write_config": lambda folder: None, "timeout": 5.0} | options
        if "servers" in options:
            options |= {"start_servers": 0}
        self.servers = VllmServers(self.policy, launch=recorded, **options)

    def stream(self):
        return self.servers.stream()

    def sample(self, samples):
        return self.servers.sample(samples)

    def close(self):
        self.servers.close()
