"""Measures how long weights take to get to a vLLM server, by the size of the model: one rank, one server, this machine.

Run it in the environment of `make test-vllm`. Printed, as one line of JSON: for each size, parameters, megabytes of
float32, and seconds of each push. The first, of the weights that the run begins with, is left out.
"""

import argparse
import json
import os
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.models.huggingface import HuggingFaceModel
from handaxe.testing.engine_case import example_batch, example_loss

WIDTHS = (64, 256, 512, 1024)
VOCABULARY, LAYERS = 4096, 8
OPTIONS = ("--enforce-eager", "--max-num-seqs", "16", "--max-num-batched-tokens", "512")
# Of the server: two threads and little memory beside the rank; and no compiler of C++ at the first request.
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
ENVIRONMENT |= {"TORCHDYNAMO_DISABLE": "1"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    sizes = [measured(width, options.rounds) for width in options.widths]
    found = {"rounds": options.rounds, "cores": os.cpu_count(), "load": os.getloadavg()[0], "sizes": sizes}
    print(json.dumps(found))
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


def measured(width: int, rounds: int) -> dict:
    """Seconds of each push, for one size of model."""
    reference = model(width)
    request = Sample([1, 2, 3], Sampling(max_tokens=1), 0, frozenset())
    seconds = []
    with ClusterEngine(model(width), trainers=1, start_servers=1, server_options=OPTIONS, timeout=900.0) as engine:
        for count in range(rounds + 1):
            engine.sample([request])
            engine.forward_backward(example_batch(reference, rows=2, seed=count), example_loss)
            seconds.append(engine.optim_step(learning_rate=1e-5)["push_seconds"])
    parameters = sum(p.numel() for p in reference.module.parameters())
    return {"parameters": parameters, "megabytes": parameters * 4 / 1e6, "seconds": seconds[1:]}


def model(width: int) -> HuggingFaceModel:
    """A Llama of that width, with weights of no meaning."""
    from tokenizers import Tokenizer, models

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=width * 3,
        num_hidden_layers=LAYERS,
        num_attention_heads=width // 32,
        max_position_embeddings=256,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = LlamaForCausalLM(config)
    return HuggingFaceModel(module, PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="w1"))


if __name__ == "__main__":
    main()
