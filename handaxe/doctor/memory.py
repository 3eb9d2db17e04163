"""Forecast of the memory of training from the sizes of a model: weights, optimizer, activations, KV cache.

For Llama-like models in `LocalEngine`. Bytes of a token in a layer, kept for the backward pass, with hidden width D,
feed-forward width F, H heads of width K and LoRA rank r:

    float32, all weights    24 D + 16 F + 20 H K        float32, LoRA    16 D + 16 F + 20 H K + 28 r
    bfloat16, all weights   16 D +  8 F +  8 H K        bfloat16, LoRA   28 D + 10 F + 12 H K + 28 r

plus 4 H + 8. peft reads bfloat16 inputs of an adapter as float32, so LoRA takes more there.

On a CPU, the C library keeps freed blocks of up to 32 MiB: glibc raises its limit for separate blocks (mmap) to the
largest block that was freed. The next tensor of another size does not fit into the holes, so the resident memory of a
pass exceeds the live tensors by a share of the activations (RETAINED, fitted to `python -m bench.memory`). With
MALLOC_MMAP_THRESHOLD_=131072 in the environment the limit is fixed, and the share is 0.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from handaxe.engines.local.engine import LocalEngine
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel
from handaxe.models.quantize import quantized_bits
from handaxe.ops.chunked import ENTRIES

__all__ = [
    "GIB",
    "MemoryForecast",
    "MemoryPlan",
    "ModelShape",
    "engine_plan",
    "engine_shape",
    "forecast_memory",
    "layer_bytes",
]

GIB = 2**30
Dtype = Literal["float32", "bfloat16"]
NUMBER = {"float32": 4, "bfloat16": 2}
"""Bytes of a number."""
ACTIVATIONS = {
    ("float32", False): (24, 16, 20),
    ("float32", True): (16, 16, 20),
    ("bfloat16", False): (16, 8, 8),
    ("bfloat16", True): (28, 10, 12),
}
"""(dtype, LoRA) -> bytes of a token in a layer for each unit of hidden width, feed-forward width and width of heads."""
RETAINED = {("float32", False): 0.14, ("float32", True): 0.72, ("bfloat16", False): 0.28, ("bfloat16", True): 0.34}
"""(dtype, LoRA) -> freed memory that glibc keeps, as a share of the activations."""
RETAINED_CHECKPOINTING = 2.1
"""The same with gradient checkpointing, where each layer frees its activations twice."""
ON_CPU = " on the CPU"
QUANTIZED = {"8bit": 1.02, "4bit": 0.5625, f"8bit{ON_CPU}": 1.02, f"4bit{ON_CPU}": 1.16}
"""Bytes of a quantized weight, with scales: LLM.int8 and NF4 of bitsandbytes, int8 and int4 of torchao."""
DRAFT = 17
"""Tokens of a row that a decoding step reads with the default drafts."""


class ModelShape(NamedTuple):
    """Sizes of a Llama-like model.

    tied: output layer and input embeddings are one matrix.
    """

    name: str
    layers: int
    width: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    tied: bool = True

    @property
    def linear(self) -> int:
        """Number of weights in the linear layers, without embeddings and output layer."""
        attention = self.width * self.head_width * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.width * self.feed_forward)

    @property
    def embeddings(self) -> int:
        """Number of weights in embeddings and output layer."""
        return self.vocabulary * self.width * (1 if self.tied else 2)

    def adapter(self, rank: int) -> int:
        """Number of weights of a LoRA adapter on all linear layers."""
        q, kv = self.heads * self.head_width, self.kv_heads * self.head_width
        sizes = [(self.width, q), (self.width, kv), (self.width, kv), (q, self.width)]
        sizes += [(self.width, self.feed_forward)] * 3
        return self.layers * rank * sum(a + b for a, b in sizes)


@dataclass(frozen=True)
class MemoryPlan:
    """How a model trains.

    dtype          of the weights
    lora           rank of the adapter, 0 to train all weights
    quantize       key of QUANTIZED for frozen weights, "" for weights in `dtype`
    tokens         of a row
    rows           of a micro-batch, without common prefixes
    sampled_rows   rows sampled at a time
    prefix_cache   tokens of the prefix cache
    checkpointing  recompute the activations of the layers in the backward pass
    reference      a frozen copy of the weights; an adapter needs none
    heap           on a CPU, where the C library keeps freed memory
    """

    dtype: Dtype
    lora: int = 0
    quantize: str = ""
    tokens: int = 2048
    rows: int = 1
    sampled_rows: int = 8
    prefix_cache: int = 32768
    checkpointing: bool = False
    reference: bool = False
    heap: bool = False


class MemoryForecast(NamedTuple):
    """Bytes of the parts of a run.

    weights      with a reference model
    optimizer    gradients, moments of AdamW and master weights
    activations  of a micro-batch, at the peak of the backward pass
    cache        keys, values and logits of sampling
    retained     freed memory that the C library keeps beside the activations
    """

    weights: float
    optimizer: float
    activations: float
    cache: float
    retained: float = 0.0

    @property
    def peak(self) -> float:
        """Peak of training and sampling, which take turns."""
        return self.weights + self.optimizer + max(self.activations + self.retained, self.cache)


def forecast_memory(shape: ModelShape, plan: MemoryPlan) -> MemoryForecast:
    """Forecast the memory of a run on one device, without the process itself (about 0.6 GiB on a CPU).

    Example:
        forecast_memory(SMOLLM2, MemoryPlan("float32", tokens=1024)).weights / GIB -> 0.50
    """
    number = NUMBER[plan.dtype]
    linear = shape.linear * (QUANTIZED[plan.quantize] if plan.quantize else number)
    weights = shape.embeddings * number + linear
    if plan.lora:
        adapter = shape.adapter(plan.lora)
        weights, optimizer = weights + 4 * adapter, 12.0 * adapter
    else:
        weights *= 2 if plan.reference else 1
        # gradient and two moments in float32; with bfloat16 also the master weights
        optimizer = (12.0 if plan.dtype == "float32" else 16.0) * (shape.linear + shape.embeddings)
    activations = _activations(shape, plan)
    share = RETAINED_CHECKPOINTING if plan.checkpointing else RETAINED[plan.dtype, plan.lora > 0]
    retained = share * activations if plan.heap else 0.0
    return MemoryForecast(weights, optimizer, activations, _cache(shape, plan), retained)


def layer_bytes(shape: ModelShape, plan: MemoryPlan) -> int:
    """Return the bytes of a token in a layer that the backward pass needs."""
    width, feed_forward, heads = ACTIVATIONS[plan.dtype, plan.lora > 0]
    numbers = width * shape.width + feed_forward * shape.feed_forward + heads * shape.heads * shape.head_width
    return numbers + 28 * plan.lora + 4 * shape.heads + 8


def _activations(shape: ModelShape, plan: MemoryPlan) -> float:
    number, tokens = NUMBER[plan.dtype], plan.rows * plan.tokens
    layer = layer_bytes(shape, plan)
    kept = shape.layers * number * shape.width + layer if plan.checkpointing else shape.layers * layer
    gradients = number * (2 * shape.width + 3 * shape.feed_forward + 3 * shape.heads * shape.head_width)
    # Pairs of a float32 tree: a number and a bit in a byte for half of the square. bfloat16 keeps the whole square.
    mask = plan.tokens**2 * (2.5 if plan.dtype == "float32" else 3)
    # torchao keeps the dequantized weights of a layer for the backward pass.
    dequantized = shape.linear * number if plan.quantize.endswith(ON_CPU) else 0
    dequantized //= shape.layers if plan.checkpointing else 1
    hidden = 4 * number * shape.width
    logits = 4 * 4 * ENTRIES
    head = 0 if plan.lora else number * shape.vocabulary * shape.width
    return tokens * (kept + gradients + hidden) + mask + logits + head + dequantized


def _cache(shape: ModelShape, plan: MemoryPlan) -> float:
    token = 2 * shape.layers * shape.kv_heads * shape.head_width * NUMBER[plan.dtype]
    logits = 3 * 4 * plan.sampled_rows * DRAFT * shape.vocabulary
    return token * (plan.sampled_rows * plan.tokens + plan.prefix_cache) + logits


def engine_shape(engine: Any) -> ModelShape | None:
    """Return the sizes of an engine's model; None for an engine or a model that the forecast does not cover."""
    model = engine.model if isinstance(engine, LocalEngine) else None
    if not isinstance(model, HuggingFaceModel) or str(model.module.dtype).removeprefix("torch.") not in NUMBER:
        return None
    config = model.module.config.get_text_config()
    if not getattr(config, "intermediate_size", None):
        return None
    heads = config.num_attention_heads
    return ModelShape(
        name=str(getattr(config, "model_type", "model")),
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        feed_forward=config.intermediate_size,
        heads=heads,
        kv_heads=getattr(config, "num_key_value_heads", None) or heads,
        head_width=getattr(config, "head_dim", None) or config.hidden_size // heads,
        vocabulary=model.vocab_size,
        tied=bool(config.tie_word_embeddings),
    )


def engine_plan(engine: LocalEngine, *, tokens: int, rows: int, sampled_rows: int, reference: bool) -> MemoryPlan:
    """Return how an engine trains its model; arguments as in `MemoryPlan`."""
    model: Any = engine.model
    adapted = isinstance(model, AdaptedModel)
    bits = quantized_bits(model.module)
    return MemoryPlan(
        dtype="float32" if str(model.module.dtype) == "torch.float32" else "bfloat16",
        lora=max((one.r for one in model.module.peft_config.values()), default=0) if adapted else 0,
        quantize=bits + ON_CPU if bits and engine.device.type == "cpu" else bits,
        tokens=tokens,
        rows=rows,
        sampled_rows=sampled_rows,
        prefix_cache=engine.prefix_cache_tokens,
        checkpointing=model.checkpointing,
        reference=reference and not adapted,
        heap=engine.device.type == "cpu" and "MALLOC_MMAP_THRESHOLD_" not in os.environ,
    )
