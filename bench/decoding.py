"""Sampling with the tiny policy, token by token, beside a plain loop; what torch.compile would bring; and the limits
of the processor for both embedded policies.

    python bench/decoding.py --out decoding.json                    under ten minutes
    python bench/decoding.py --out decoding.json --quick            to see that it runs
    python bench/decoding.py --out decoding.json --only policies    one part; the others stay in the file

`LocalEngine.sample` and the plain loop sample as many tokens from the same weights after the same prompts, all of the
same length, and take turns in one process. The loop keeps keys and values in a cache that is allocated once for all
rows, draws with torch.multinomial from one generator, and stops when all rows have their tokens: no row joins, leaves
or ends early. Given are tokens a second by processor time, which other work on the machine disturbs less than the
clock on the wall, and by that clock: on one thread, and in the first two cases also on as many as there are cores.

Then torch.compile, where there is a C++ compiler: the blocks of the policy but for their attention, compiled and not,
in turns, sampling and in an update's forward and backward. What compiling took stands apart.

Then `tiny` and `small` on one thread, by processor time, at three lengths of the context, beside the core's copy
bandwidth (torch's copy of 256 MB, bytes read and written) and matmul peak (float32, 1,024 rows and columns), measured
in turn with them. A decoding step reads all weights but the embeddings of previous ids, and the keys and values of all
rows. An update's products are six for each weight and token, and six times width times the squared length in each layer
and row for causal attention.
"""

import argparse
import json
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.nn import functional as F

from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import Block, TinyConfig, TinyModel
from handaxe.training.sft.train_small import SMALL

CASES = ((128, 8), (128, 32), (128, 128), (16, 32), (1, 32))
"""Rows, tokens of a prompt."""
NEW = 64
WIDE = TinyConfig(width=576, heads=9, layers=1)
"""A layer about as wide as SmolLM2-135M's."""


@torch.inference_mode()
def plain_loop(net, prompt_BT, new, generator):
    """Ids and log-probs [B, new]."""
    rows, read = prompt_BT.shape
    heads, width = net.config.heads, net.config.width // net.config.heads
    keys = [torch.empty(rows, heads, read + new, width) for _ in net.blocks]
    values = [torch.empty(rows, heads, read + new, width) for _ in net.blocks]
    rate = 10000.0 ** (-torch.arange(width // 2) / (width // 2))
    angle = torch.arange(read + new)[:, None] * rate
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]

    def turned(x, at):
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos[at] - second * sin[at], first * sin[at] + second * cos[at]], -1)

    def layer(block, index, x, at):
        tokens = x.shape[1]
        q, k, v = block.qkv(block.norm_1(x)).view(rows, tokens, 3, heads, width).unbind(2)
        keys[index][:, :, at], values[index][:, :, at] = turned(k, at).transpose(1, 2), v.transpose(1, 2)
        q = turned(q, at).transpose(1, 2)
        k = keys[index][:, :, : at.stop]
        v = values[index][:, :, : at.stop]
        if tokens > 1:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            out = ((q * width**-0.5) @ k.transpose(2, 3)).softmax(-1) @ v
        x = x + block.out(out.transpose(1, 2).flatten(2))
        gate, up = block.gate_up(block.norm_2(x)).chunk(2, -1)
        return x + block.down(F.silu(gate) * up)

    x = net.embed(prompt_BT) + F.pad(net.embed_before(prompt_BT[:, :-1]), (0, 0, 1, 0))
    last = prompt_BT[:, -1:]
    at = slice(0, read)
    out = []
    while True:
        for index, block in enumerate(net.blocks):
            x = layer(block, index, x, at)
        logp_BV = (net.norm(x[:, -1]) @ net.embed.weight.T).log_softmax(-1)
        ids_B1 = torch.multinomial(logp_BV.exp(), 1, generator=generator)
        out.append((ids_B1, logp_BV.gather(-1, ids_B1)))
        if len(out) == new:
            return tuple(torch.cat(each, 1) for each in zip(*out))
        x = net.embed(ids_B1) + net.embed_before(last)
        last, at = ids_B1, slice(at.stop, at.stop + 1)


def sides_of(rows, read, new):
    """The two, as functions that sample rows * new tokens."""
    model, draw = TinyModel.new(TinyConfig()), torch.Generator().manual_seed(0)
    prompt_BT = torch.randint(0, model.vocab_size, (rows, read), generator=draw)
    engine, sampling = LocalEngine(model), Sampling(max_tokens=new)
    requests = [Sample(ids, sampling, row, frozenset()) for row, ids in enumerate(prompt_BT.tolist())]
    return {
        "handaxe": lambda: engine.sample(requests),
        "plain": lambda: plain_loop(model.module, prompt_BT, new, draw),
    }


@torch.inference_mode()
def check():
    """Check that loop and engine give equal log-probs."""
    model, draw = TinyModel.new(TinyConfig(layers=2)), torch.Generator().manual_seed(0)
    prompt_BT = torch.randint(0, model.vocab_size, (3, 9), generator=draw)
    ids_BN, logp_BN = plain_loop(model.module, prompt_BT, 8, draw)
    whole_BT = torch.cat([prompt_BT, ids_BN], 1)
    logits = model.head(model.hidden(whole_BT, torch.ones_like(whole_BT, dtype=torch.bool)))[:, 8:-1]
    torch.testing.assert_close(logp_BN, logits.log_softmax(-1).gather(-1, ids_BN[..., None])[..., 0], rtol=0, atol=1e-4)


def compare(rows, read, threads, rounds, new=NEW):
    """Tokens a second of both, in turns, and in each round the ratio of the two."""
    torch.set_num_threads(threads)
    sides, tokens = sides_of(rows, read, new), rows * new
    found = {f"{side}_{clock}": [] for side in sides for clock in ("cpu", "wall")}
    for turn in range(rounds + 1):
        for side, sample in sides.items():
            cpu, wall = time.process_time(), time.perf_counter()
            sample()
            taken = time.process_time() - cpu, time.perf_counter() - wall
            if turn:  # the first warms up
                found[f"{side}_cpu"].append(tokens / taken[0])
                found[f"{side}_wall"].append(tokens / taken[1])
    for clock in ("cpu", "wall"):
        pairs = zip(found[f"handaxe_{clock}"], found[f"plain_{clock}"])
        found[f"ratio_{clock}"] = [ours / theirs for ours, theirs in pairs]
    found = {name: [float(f"{value:.5g}") for value in values] for name, values in found.items()}
    return {"rows": rows, "prompt": read, "new": new, "threads": threads, **found}


# --- torch.compile -----------------------------------------------------------------------------------------------


@contextmanager
def blocks_of(parts):
    """Replace `project` and `mix` of every block, the parts without attention."""
    before = Block.project, Block.mix
    Block.project, Block.mix = parts
    try:
        yield
    finally:
        Block.project, Block.mix = before


def update_of(config, rows, tokens):
    """Forward and backward of rows through the layers."""
    net, draw = TinyModel.new(config).module, torch.Generator().manual_seed(0)
    ids_BT = torch.randint(0, config.vocab_size, (rows, tokens), generator=draw)
    return lambda: net.hidden(ids_BT).square().sum().backward()


def compare_compiled(rounds):
    """Processor seconds with compiled parts over those without, by round; and how long the first call took."""
    torch.set_num_threads(1)
    plain = Block.project, Block.mix
    compiled = tuple(torch.compile(part, dynamic=True) for part in plain)
    cases = {
        "sampling, 128 rows": sides_of(128, 8, NEW)["handaxe"],
        "sampling, 1 row": sides_of(1, 32, NEW)["handaxe"],
        "update, 8 rows of 128 tokens": update_of(TinyConfig(), 8, 128),
        "update, 512 tokens, a layer of width 576": update_of(WIDE, 1, 512),
    }
    found = []
    for name, run in cases.items():
        run()
        begin = time.perf_counter()
        with blocks_of(compiled):
            run()
        first, taken = time.perf_counter() - begin, ([], [])
        for _ in range(rounds):
            for parts, seconds in zip((plain, compiled), taken):
                with blocks_of(parts):
                    begin = time.process_time()
                    run()
                    seconds.append(time.process_time() - begin)
        ratio = [float(f"{after / before:.4g}") for before, after in zip(*taken)]
        facts = {"first_call_s": round(first, 1), "plain_s": min(taken[0]), "ratio_cpu": ratio}
        found.append(shown({"case": name, **facts}))
    return found


# --- limits of the processor ---------------------------------------------------------------------------------------

CONTEXTS = ((256, 32), (1024, 32), (3072, 16))
"""Tokens in the cache, rows."""
UPDATED = 6144
"""Least tokens of an update; whole rows."""


def seconds_of(run, times=1):
    """Processor seconds of a call, the mean over `times` calls."""
    begin = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - begin) / times


def copy_bandwidth(size=1 << 26):
    """Bytes read and written a second by a copy of 4 * size bytes."""
    source, target = torch.ones(size), torch.zeros(size)  # written before, so that no page is new
    return 2 * 4 * size / seconds_of(lambda: target.copy_(source), times=4)


def matmul_peak(size=1024):
    """Floating-point operations a second of a product of square matrices."""
    left = torch.ones(size, size)
    right = torch.ones(size, size)
    out = torch.empty(size, size)
    return 2 * size**3 / seconds_of(lambda: torch.mm(left, right, out=out), times=4)


@torch.inference_mode()
def decoder_of(model, context, rows):
    """A decoding step over a full cache, and the bytes that it reads."""
    cache = model.slots()
    cache.reserve(rows, context)
    for slot in range(rows):
        cache.put(slot, 0, [torch.randn(part.shape) for part in cache.take(slot, 0, context - 1)])
    weights = sum(weight.nbytes for name, weight in model.module.named_parameters() if "embed_before" not in name)

    @torch.inference_mode()
    def step():
        cache.write([[65]] * rows, [66] * rows, [context - 1] * rows)

    return step, weights + rows * context * cache.token_bytes


def updater_of(model, context):
    """A forward and backward over all tokens of whole rows, its tokens and its floating-point operations."""
    rows, config = max(1, UPDATED // context), model.module.config
    ids_BT = torch.randint(0, model.vocab_size, (rows, context), generator=torch.Generator().manual_seed(0))

    def update():
        logits = model.head(model.module.hidden(ids_BT)[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), ids_BT[:, 1:].flatten()).backward()
        model.module.zero_grad()

    products = sum(weight.numel() for name, weight in model.module.named_parameters() if "embed_before" not in name)
    attention = 6 * config.layers * config.width * rows * context**2
    return update, rows * context, 6 * products * rows * context + attention


def limits(rounds, contexts=CONTEXTS, steps=8):
    """Tokens a second of both policies, and shares of copy bandwidth and matmul peak, by round, in turns."""
    torch.set_num_threads(1)
    models = {"tiny": TinyModel.new(), "small": TinyModel.new(SMALL)}  # speed depends on sizes, not on weights
    found = []
    for context, rows in contexts:
        cases = {}
        for name, model in models.items():
            model.extend_context(context)
            cases[name] = decoder_of(model, context, rows), updater_of(model, context)
        row = {"context": context, "rows": rows, "copy_bandwidth": [], "matmul_peak": []}
        row |= {f"{name}_{key}": [] for name in models for key in ("decoded", "bandwidth", "updated", "flops")}
        for turn in range(rounds + 1):
            bandwidth, peak = copy_bandwidth(), matmul_peak()
            for name, ((step, read), (update, tokens, operations)) in cases.items():
                decoding, updating = seconds_of(step, times=steps), seconds_of(update)
                if turn:  # the first warms up
                    row[f"{name}_decoded"].append(rows / decoding)
                    row[f"{name}_bandwidth"].append(read / decoding / bandwidth)
                    row[f"{name}_updated"].append(tokens / updating)
                    row[f"{name}_flops"].append(operations / updating / peak)
            if turn:
                row["copy_bandwidth"].append(bandwidth)
                row["matmul_peak"].append(peak)
        rounded = {key: [float(f"{x:.4g}") for x in value] for key, value in row.items() if isinstance(value, list)}
        found.append(shown({**row, **rounded}))
    return found


def shown(found):
    """The same, printed."""
    print(json.dumps(found), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="one round of few rows")
    parser.add_argument("--only", choices=("sampling", "policies"), help="one part of it")
    given = parser.parse_args()
    rounds, cases = (1, ((8, 8),)) if given.quick else (given.rounds, CASES)
    found = json.loads(given.out.read_text()) if given.only and given.out and given.out.exists() else {}
    if given.only != "policies":
        check()
        threads = sorted({1, os.cpu_count() or 1})
        asked = [(*case, count) for count in threads for case in (cases if count == 1 else cases[:2])]
        found["sampling"] = [shown(compare(*case, rounds)) for case in asked]
        found["compiled"] = compare_compiled(rounds) if shutil.which("g++") and not given.quick else []
        found["load"] = round(os.getloadavg()[0], 1)
    if given.only != "sampling":
        found["policies"] = limits(rounds, CONTEXTS[:1] if given.quick else CONTEXTS)
        found["policies_load"] = round(os.getloadavg()[0], 1)
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
