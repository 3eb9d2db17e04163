"""Shared by tests with a real vLLM server: a small Llama, a small Idefics3, and a LocalEngine sampled by servers.
Importing this module without vLLM skips the importing module."""

import contextlib
import copy
import importlib.util
import os

import pytest
import torch

from handaxe.core.model_api import VisionModel
from handaxe.core.requests import Measure
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.servers import VllmServers
from handaxe.engines.vllm.weight_transfer import ServedPolicy, served_weights, write_config
from handaxe.models.huggingface import HuggingFaceModel
from handaxe.models.huggingface_vision import HuggingFaceVisionModel
from handaxe.testing.vision_models import small_vision

if importlib.util.find_spec("vllm") is None:
    pytest.skip("vLLM is not in this environment: run `make test-vllm`", allow_module_level=True)
VOCABULARY, MAX_LENGTH = 48, 256
# Options and variables of a small server, so that two servers and a trainer fit on two cores.
SMALL = ("--enforce-eager", "--max-num-seqs", "16", "--max-num-batched-tokens", "512")
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
ENVIRONMENT |= {"TORCHDYNAMO_DISABLE": "1"}  # otherwise the first request waits for a C++ compiler


def make_model(tied=True, seed=0, vocabulary=VOCABULARY):
    """A Llama with fixed weights and sharp distributions, so that greedy and temperature sampling differ."""
    from tokenizers import Tokenizer, models
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(vocabulary)}, unk_token="w0"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="w1")
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=MAX_LENGTH,
        tie_word_embeddings=tied,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = LlamaForCausalLM(config)
        with torch.no_grad():
            module.get_output_embeddings().weight.mul_(8)
            for layer in module.model.layers:  # otherwise every token repeats the token before
                for linear in (layer.self_attn.o_proj, layer.self_attn.v_proj, layer.mlp.down_proj, layer.mlp.up_proj):
                    linear.weight.mul_(12)
    return HuggingFaceModel(module, tokenizer)


def make_vision_model():
    """An Idefics3 with fixed weights, of heads of 32 numbers: vLLM's attention on a CPU takes no smaller ones."""
    _, images, _ = small = small_vision("idefics3")
    config = copy.deepcopy(small.module.config)
    config.text_config.update({"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = type(small.module)(config).float().eval()
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if parameter.ndim >= 2:
                    parameter.normal_(0, 0.5 if "embed" in name else 0.6 / parameter.shape[-1] ** 0.5)
    model = HuggingFaceVisionModel(module, images)
    model.max_length = MAX_LENGTH
    return model


class Fleet:
    """Servers shared by several engines, sampling the engine used last; starting servers takes minutes."""

    def __init__(self, model, **options):
        self.engine, self.count = LocalEngine(model), 0
        policy = ServedPolicy(
            version=lambda: self.engine.version,
            stamp=lambda: (getattr(self.engine, "number", 0), self.engine.version, _writes(self.engine)),
            gather=lambda: served_weights(self.engine.model.module),
            score=lambda ids, start=1, images=(): self.engine.measure([Measure(ids, start, images=images)])[0]["logp"],
            vocab_size=model.vocab_size,
            max_length=model.max_length,
            model=model if isinstance(model, VisionModel) else None,
        )
        files = getattr(model, "image_processor", None)
        write = lambda folder: write_config(model.module, folder, image_processor=files)  # noqa: E731
        options |= {} if options.get("servers") else {"write_config": write}
        options = {"start_timeout": 900.0} | options  # a busy machine takes minutes
        self.servers = VllmServers(policy, options=SMALL, **options)


@contextlib.contextmanager
def small_servers():
    """Set the environment of small servers (one thread, little memory); yields the addresses of running servers in the
    variable HANDAXE_TEST_SERVER, for manual tests without a server start."""
    saved = dict(os.environ)
    os.environ.update(ENVIRONMENT)
    try:
        yield os.environ.get("HANDAXE_TEST_SERVER", "").split()
    finally:
        os.environ.clear()
        os.environ.update(saved)


@contextlib.contextmanager
def started(model=None, **options):
    """A fleet with new servers, by default of the small Llama."""
    with small_servers() as running:
        reusable = running and model is None and set(options) == {"start_servers"}
        fleet = Fleet(model or make_model(), **({"servers": running} if reusable else options))
        try:
            yield fleet
        finally:
            fleet.servers.close()


class Served(LocalEngine):
    """A LocalEngine sampled by servers."""

    def __init__(self, fleet, model, **options):
        super().__init__(model, **options)
        self._fleet = fleet
        fleet.count += 1
        self.number = fleet.count

    def stream(self):
        return ServedStream(self._fleet, self)

    def sample(self, requests):
        self._fleet.engine = self
        return self._fleet.servers.sample(requests)


class ServedStream:
    """A stream that selects its engine before each call that may push weights."""

    def __init__(self, fleet, engine):
        self._fleet, self._engine = fleet, engine
        self._stream = fleet.servers.stream()

    def submit(self, request):
        return self._stream.submit(request)

    def poll(self, wait=0.0):
        self._fleet.engine = self._engine
        return self._stream.poll(wait)

    def interrupt(self, ticket):
        self._fleet.engine = self._engine
        return self._stream.interrupt(ticket)

    def __len__(self):
        return len(self._stream)

    def close(self):
        self._stream.close()


def _writes(engine):
    """The number of in-place writes to the weights."""
    return sum(parameter._version for parameter in engine.model.module.parameters())
