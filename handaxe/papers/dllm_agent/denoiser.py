"""Masked-diffusion policy of the size of the embedded policy, made of its network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from handaxe.models.tiny import TinyNet

__all__ = ["Denoiser", "KeysValues", "MASK", "NOTHING"]

MASK = -1
"""Stands for a masked token in ids and previous ids; `Denoiser` has an embedding of its own for each."""
NOTHING = -2
"""Previous id of the first position of a conversation."""
KeysValues = Sequence[tuple[Tensor, Tensor]]
"""Keys and values [B, G, P, K] of each block of the network."""


class Denoiser(nn.Module):
    """Network that predicts masked tokens of a block, each from the output at the token before.

        x_n = embed(id_n) + embed_before(id_{n-1})                  with learned vectors for masked ids
        p(id_{n+1} = v) = softmax(norm(blocks(x))_n embed^T)_v      under a given attention mask

    With a causal mask and no masked ids the network is the autoregressive policy.

    Args:
        net: network of an autoregressive policy, whose weights are used and trained; `TinyNet`.

    Example:
        Denoiser(TinyNet(TinyConfig()))(ids_BN, before_BN, position_BN, visible_BNN) -> log-probs [B, N, 264]

    Paper: arXiv:2602.07451 (DLLM Agent), the diffusion backbone, adapted from an autoregressive model.
    Unconfirmed: nothing else is known of the network but block diffusion with a causal context.
    Differs: the embedded policy's network instead of one of 7B parameters; outputs are shifted by one token, so that
        weights of an autoregressive policy keep their meaning.
    """

    def __init__(self, net: TinyNet):
        super().__init__()
        self.net = net
        width = net.config.width
        self.masked = nn.Parameter(net.embed.weight.new_zeros(width))
        self.masked_before = nn.Parameter(net.embed.weight.new_zeros(width))

    def forward(self, ids_BN: Tensor, before_BN: Tensor, position_BN: Tensor, visible_BNN: Tensor) -> Tensor:
        """Compute log-probs [B, N, V].

        Args:
            ids_BN: ids, MASK where masked.
            before_BN: previous ids, MASK where masked, NOTHING (-2) for none.
            position_BN: places in the conversation.
            visible_BNN: True where position n sees position m.
        """
        hidden_BND, _ = self.extend((), ids_BN, before_BN, position_BN, visible_BNN)
        return self.log_probs(hidden_BND)

    def log_probs(self, hidden_BND: Tensor) -> Tensor:
        """Compute log-probs [..., V] of hidden states [..., D]."""
        return self.net.head(hidden_BND).log_softmax(-1)

    def extend(
        self, cache: KeysValues, ids_BN: Tensor, before_BN: Tensor, position_BN: Tensor, visible_BNM: Tensor
    ) -> tuple[Tensor, KeysValues]:
        """Compute hidden states [B, N, D] after cached positions, and the keys and values of all positions.

        Args:
            cache: keys and values [B, G, P, K] of each block of the network; () for none.
            ids_BN, before_BN, position_BN: as in `forward`.
            visible_BNM: columns are the P cached positions, then the N new ones.
        """
        x_BND = self._embed(ids_BN, before_BN)
        rotation = self.net.rotation(position_BN)
        kept = []
        for number, block in enumerate(self.net.stack):
            q, k, v = block.project(x_BND, rotation)
            if cache:
                k = torch.cat([cache[number][0], k], 2)
                v = torch.cat([cache[number][1], v], 2)
            kept.append((k, v))
            grouped = q.shape[1] != k.shape[1]
            seen = F.scaled_dot_product_attention(q, k, v, attn_mask=visible_BNM[:, None], enable_gqa=grouped)
            x_BND = block.mix(x_BND, seen)
        return self.net.norm(x_BND), kept

    def _embed(self, ids_BN: Tensor, before_BN: Tensor) -> Tensor:
        own = torch.where((ids_BN == MASK)[..., None], self.masked, self.net.embed(ids_BN.clamp(min=0)))
        earlier = self.net.embed_before(before_BN.clamp(min=0)) * (before_BN != NOTHING)[..., None]
        return own + torch.where((before_BN == MASK)[..., None], self.masked_before, earlier)
