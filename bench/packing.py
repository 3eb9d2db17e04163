"""Tree packing against plain rows, and the memory of logits over a large vocabulary.

    python bench/packing.py --out packing.json            everything; the 135M shape takes most of the time
    python bench/packing.py --out packing.json --quick    the tiny shape alone, fewer repeats

A step is forward and backward of the same micro-batch through the same weights, taking turns in one process: by an
engine that reads trees, by the same with one dense mask over all tokens of the trees in the place of blocks, and by one
that reads padded rows. All make logits only where a token trains. Given are medians
with spread (lowest and highest), in seconds of processor time on one thread, which other work on the machine disturbs
less than the clock on the wall; the wall clock is given too.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from handaxe.core.batch import Batch, Denominators, LossOut
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.packing import padded_layout, tree_layout
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.models.trunk import Trunk
from handaxe.ops import token_trees as trees
from handaxe.ops.chunked import chunked_measures
from handaxe.ops.logprob import token_logp
from handaxe.ops.tree_attention import KeyBlock

SMOLLM2 = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
GOALS = {"speed": 3.0, "memory": 5.0}


class RandomLlama(Trunk):
    """A model of the shape of SmolLM2-135M with random weights."""

    pad_id = 0

    def __init__(self):
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        super().__init__(LlamaForCausalLM(LlamaConfig(**SMOLLM2)).eval())
        self.vocab_size, self.hidden_size = SMOLLM2["vocab_size"], SMOLLM2["hidden_size"]
        self.max_length = SMOLLM2["max_position_embeddings"]


def siblings(*, vocabulary, prompt, group, sampled):
    """One group: a shared prompt and continuations of equal length; all continuations train."""
    draw = np.random.default_rng(0)
    shared = draw.integers(0, vocabulary, prompt)
    ids_BT = np.stack([np.append(shared, draw.integers(0, vocabulary, sampled)) for _ in range(group)])
    mask_BT = torch.arange(prompt + sampled).expand(group, -1) >= prompt
    zeros_BT, adv_BT = torch.zeros(mask_BT.shape), torch.from_numpy(draw.normal(size=mask_BT.shape)).float()
    positive = float((mask_BT & (adv_BT > 0)).sum())
    return Batch(
        ids_BT=torch.from_numpy(ids_BT),
        attend_BT=torch.ones_like(mask_BT),
        mask_BT=mask_BT,
        adv_BT=adv_BT,
        old_logp_BT=zeros_BT,
        behaviour_logp_BT=zeros_BT,
        turn_BT=torch.where(mask_BT, 0, -1),
        group_B=torch.zeros(group, dtype=torch.int64),
        rollout_B=torch.arange(group),
        rollout_tokens_B=torch.full((group,), float(sampled)),
        rollout_turns_B=torch.ones(group),
        temperature_B=torch.ones(group),
        denominators=Denominators(float(group * sampled), float(group), float(group), 1.0, positive),
    )


def loss(out, batch):
    value = torch.where(batch.mask_BT, -batch.adv_BT * out.logp_BT, 0.0).sum() / batch.denominators.tokens
    return LossOut(value, {})


def step(engine, batch):
    """Processor seconds and wall seconds of one forward and backward, and the gradient as one vector."""
    cpu, wall = time.process_time(), time.perf_counter()
    engine.forward_backward(batch, loss)
    taken = time.process_time() - cpu, time.perf_counter() - wall
    gradient = torch.cat([p.grad.flatten() for p in engine.model.module.parameters() if p.grad is not None])
    engine.model.module.zero_grad(set_to_none=True)
    return *taken, gradient


@contextmanager
def one_block(used):
    """Trees whose attention is one dense mask over all of their tokens."""

    def whole(last_N, depth_N, device):
        place = np.arange(len(last_N))
        sees = (place <= place[:, None]) & (place[:, None] <= last_N)
        return (KeyBlock(0, len(place), ((0, len(place)),), torch.from_numpy(sees).to(device)),)

    before = trees.attention_blocks
    trees.attention_blocks = whole if used else before
    try:
        yield
    finally:
        trees.attention_blocks = before


def compare(model, *, prompt, group, sampled, repeats):
    """Trees, trees with a dense mask, and rows, in turns on the same weights, after a small step of each."""
    batch = siblings(vocabulary=model.vocab_size, prompt=prompt, group=group, sampled=sampled)
    engines = {
        way: LocalEngine(model, packing="rows" if way == "rows" else "tree") for way in ("tree", "dense", "rows")
    }
    for engine in engines.values():
        step(engine, siblings(vocabulary=model.vocab_size, prompt=8, group=2, sampled=8))
    cpu, wall = ({packing: [] for packing in engines} for _ in range(2))
    gap = 0.0
    for _ in range(repeats):
        gradients = []
        for packing, engine in engines.items():
            with one_block(packing == "dense"):
                one, other, gradient = step(engine, batch)
            cpu[packing].append(one)
            wall[packing].append(other)
            gradients.append(gradient)
        *packed, rows = gradients
        gap = max(gap, *(float((tree - rows).abs().max() / rows.abs().max()) for tree in packed))
    layouts = {"tree": tree_layout(batch, pack_tokens=1024, width=model.hidden_size), "rows": padded_layout(batch)}
    layouts["dense"] = layouts["tree"]
    found = {"prompt": prompt, "group": group, "sampled": sampled, "gradient_gap": gap}
    for packing in engines:
        found[packing] = {
            "cpu": spread(cpu[packing]),
            "wall": spread(wall[packing]),
            "tokens_computed": layouts[packing].computed,
            "wasted": layouts[packing].wasted,
        }
    found["speedup"] = found["rows"]["cpu"]["median"] / found["tree"]["cpu"]["median"]
    found["dense_over_tree"] = found["dense"]["cpu"]["median"] / found["tree"]["cpu"]["median"]
    found["speedup_wall"] = found["rows"]["wall"]["median"] / found["tree"]["wall"]["median"]
    return found


def spread(values):
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


# --- memory of logits --------------------------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """Remembers the bytes of the largest storage that an operation gives."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        sizes = [x.numel() * x.element_size() for x in tree_iter(out) if isinstance(x, torch.Tensor)]
        self.bytes = max([self.bytes, *sizes])
        return out


def measure_memory(way, tokens, train_head):
    """In a process of its own: how much the log-probs of `tokens` tokens and their gradient add to its peak."""
    torch.manual_seed(0)
    vocabulary, width = SMOLLM2["vocab_size"], SMOLLM2["hidden_size"]
    weight_VD = (torch.randn(vocabulary, width) / width**0.5).requires_grad_(train_head)
    ids_M, one_M = torch.randint(0, vocabulary, (tokens,)), torch.ones(tokens)

    def run(hidden_MD):
        if way == "chunked":
            logp_M = chunked_measures(hidden_MD, weight_VD, None, ids_M[: len(hidden_MD)], one_M[: len(hidden_MD)])
            return logp_M["logp"].sum().backward()
        return token_logp(hidden_MD @ weight_VD.T, ids_M[: len(hidden_MD)], one_M[: len(hidden_MD)]).sum().backward()

    run(torch.randn(2, width, requires_grad=True))  # what the libraries need once, and the gradient of the weight
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from what is in memory now
    before = resident("VmRSS")
    run(torch.randn(tokens, width, requires_grad=True))
    rise = resident("VmHWM") - before
    with Largest() as largest:
        run(torch.randn(tokens, width, requires_grad=True))
    return {"largest_tensor_bytes": largest.bytes, "peak_rise_bytes": rise}


def resident(name):
    """Bytes in memory: VmRSS now, VmHWM at the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def memory(tokens, train_head, repeats):
    """Both ways in turns, each time in a new process."""
    vocabulary, width = SMOLLM2["vocab_size"], SMOLLM2["hidden_size"]
    found = {"tokens": tokens, "vocabulary": vocabulary, "head_trains": train_head}
    found["head_gradient_bytes"] = 4 * vocabulary * width if train_head else 0
    taken = {"plain": [], "chunked": []}
    for _ in range(repeats):
        for way, measured in taken.items():
            command = [sys.executable, __file__, "--memory-of", way, "--tokens", str(tokens)]
            command += ["--train-head"] if train_head else []
            measured.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))
    for name in ("largest_tensor_bytes", "peak_rise_bytes"):
        plain, chunked = (spread([one[name] for one in measured]) for measured in taken.values())
        found[name] = {"plain": plain, "chunked": chunked, "less": plain["median"] / max(chunked["median"], 1)}
    return found


# --- all of it ---------------------------------------------------------------------------------------------------


def tiny():
    return TinyModel.new(TinyConfig(max_length=2048))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=("tiny", "curve", "memory", "smollm2_shape"), help="one part of it")
    parser.add_argument("--quick", action="store_true", help="the tiny shape alone, two repeats, a short curve")
    parser.add_argument("--memory-of", choices=("plain", "chunked"), help=argparse.SUPPRESS)
    parser.add_argument("--tokens", type=int, default=512, help=argparse.SUPPRESS)
    parser.add_argument("--train-head", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.memory_of:
        print(json.dumps(measure_memory(given.memory_of, given.tokens, given.train_head)))
        return
    repeats = 2 if given.quick else given.repeats
    shape = {"prompt": 512, "group": 8, "sampled": 64}
    found = {"goals": GOALS, "threads": 1, "repeats": repeats}
    if given.only in (None, "tiny"):
        found["tiny"] = show("tiny", compare(tiny(), **shape, repeats=repeats))
    if given.only in (None, "curve"):
        points = [(prompt, 8) for prompt in (64, 128, 256, 512, 1024)] + [(512, group) for group in (2, 4, 16)]
        known = {(512, 8): found.get("tiny")}
        found["curve"] = [
            known.get((prompt, group))
            or show("curve", compare(tiny(), prompt=prompt, group=group, sampled=64, repeats=repeats))
            for prompt, group in (points[::3] if given.quick else points)
        ]
    if given.only in (None, "memory"):
        found["memory"] = [memory(512, train_head, repeats) for train_head in (False, True)]
        for one in found["memory"]:
            head, less = "trained" if one["head_trains"] else "frozen", one["peak_rise_bytes"]["less"]
            print(f"memory, output layer {head}: {less:.1f} times less at the peak", flush=True)
    if given.only == "smollm2_shape" or not (given.only or given.quick):
        found["smollm2_shape"] = show("135M", compare(RandomLlama(), **shape, repeats=repeats))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


def show(name, found):
    print(
        f"{name}: prompt {found['prompt']}, {found['group']} siblings: {found['speedup']:.2f} times as fast "
        f"({found['rows']['cpu']['median']:.3f} s -> {found['tree']['cpu']['median']:.3f} s), "
        f"gradients {found['gradient_gap']:.1e} apart",
        flush=True,
    )
    return found


if __name__ == "__main__":
    main()
