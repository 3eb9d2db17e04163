"""handaxe's tiny policy for transformers. This file is copied into exports and imports nothing from handaxe.

Shapes: B rows, T new tokens, U all tokens with those in the cache, H query heads, G key-value heads, K width of a head,
D width.
"""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicCache
from transformers.modeling_outputs import CausalLMOutputWithPast

__all__ = ["HandaxeTinyConfig", "HandaxeTinyForCausalLM"]

CACHE = "cache" if "cache" in CausalLMOutputWithPast.__dataclass_fields__ else "past_key_values"
"""Field of the KV cache: "cache" since transformers 5.24."""


class HandaxeTinyConfig(PretrainedConfig):
    """Sizes of the model. `num_hidden_layers`, the number of cache layers, is one more than the number of blocks: the
    first cache layer stores the embedding of each id for the token after it."""

    model_type = "handaxe_tiny"
    attribute_map = {"hidden_size": "width", "num_attention_heads": "heads"}  # noqa: RUF012
    vocab_size = 264
    width = 128
    layers = 4
    heads = 4
    kv_heads = None
    max_position_embeddings = 512

    @property
    def num_hidden_layers(self):
        """Layers of a cache."""
        return self.layers + 1


class _Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, hidden = config.width, 8 * config.width // 3
        self.heads = config.heads
        self.kv_heads = config.kv_heads or config.heads
        self.norm_1, self.norm_2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, width + 2 * width // self.heads * self.kv_heads, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x_BTD, turn_BTK, mask_B1TU, update_cache):
        qkv = self.qkv(self.norm_1(x_BTD)).view(*x_BTD.shape[:2], self.heads + 2 * self.kv_heads, -1)
        turned = _rotate(qkv[:, :, : -self.kv_heads], turn_BTK[:, :, None])
        parts = turned[:, :, : self.heads], turned[:, :, self.heads :], qkv[:, :, -self.kv_heads :]
        query, key, value = (part.transpose(1, 2) for part in parts)
        key, value = update_cache(key, value)
        grouped = self.heads != self.kv_heads
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask_B1TU, enable_gqa=grouped)
        x_BTD = x_BTD + self.out(attended.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.norm_2(x_BTD)).chunk(2, -1)
        return x_BTD + self.down(F.silu(gate) * up)


class HandaxeTinyForCausalLM(PreTrainedModel, GenerationMixin):
    """Decoder with embeddings of each id and the preceding id, rotary positions, SwiGLU and a tied head."""

    config_class = HandaxeTinyConfig
    base_model_prefix = ""

    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.width)
        self.embed_before = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList([_Block(config) for _ in range(config.layers)])
        self.norm = nn.RMSNorm(config.width)
        self.post_init()

    def get_input_embeddings(self):
        """The embedding of a token's id, tied to the output layer."""
        return self.embed

    def forward(
        self,
        input_ids,
        attention_mask=None,
        position_ids=None,
        past_key_values=None,
        cache=None,
        labels=None,
        use_cache=None,
        logits_to_keep=0,
        return_dict=None,
        **ignored,
    ):
        """Logits [B, T, V]. `attention_mask` [B, U] marks padding on either side; `cache` has been the name of
        `past_key_values` since transformers 5.24. Further arguments of servers are
        ignored."""
        del ignored
        cache = past_key_values if cache is None else cache
        if cache is None and use_cache:
            cache = DynamicCache()
        past = 0 if cache is None else cache.get_seq_length()
        new = input_ids.shape[1]
        if attention_mask is None:
            attention_mask = input_ids.new_ones(input_ids.shape[0], past + new)
        seen_BU = attention_mask.bool()
        if position_ids is None:
            position_ids = (seen_BU.long().cumsum(1) - 1).clamp(min=0)[:, -new:]
        after_BTD = self.embed_before(input_ids) * seen_BU[:, -new:, None]
        after_B1UD = _cache_update(cache, 0)(after_BTD[:, None], after_BTD[:, None])[0]
        before_BTD = F.pad(after_B1UD[:, 0], (0, 0, 1, 0))[:, -new - 1 : -1]
        x_BTD = self.embed(input_ids) + before_BTD
        causal_TU = torch.ones(new, past + new, dtype=torch.bool, device=input_ids.device).tril(past)
        own_TU = torch.eye(new, past + new, dtype=torch.bool, device=input_ids.device).roll(past, 1)
        mask_B1TU = ((causal_TU & seen_BU[:, None]) | own_TU)[:, None]
        turn_BTK = self._turn(position_ids.expand(input_ids.shape))
        for layer, block in enumerate(self.blocks, 1):
            x_BTD = block(x_BTD, turn_BTK, mask_B1TU, _cache_update(cache, layer))
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.norm(x_BTD)[:, kept] @ self.embed.weight.T
        loss = None if labels is None else F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        out = CausalLMOutputWithPast(loss=loss, logits=logits, **{CACHE: cache})
        return out if return_dict is not False else out.to_tuple()

    def _turn(self, position_BT):
        half = self.config.width // self.config.heads // 2
        rate_K = 10000.0 ** (-torch.arange(half, device=position_BT.device, dtype=torch.float64) / half)
        angle = position_BT[..., None].double() * rate_K
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([cos, cos, -sin, sin], -1).to(self.embed.weight.dtype)

    def _init_weights(self, module):
        """No initialisation: weights are always loaded."""


def _cache_update(cache, layer):
    if cache is None:
        return lambda key, value: (key, value)
    return lambda key, value: cache.update(key, value, layer)


def _rotate(x, turn):
    straight, across = turn.chunk(2, -1)
    return torch.addcmul(x * straight, x.roll(x.shape[-1] // 2, -1), across)
