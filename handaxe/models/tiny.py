"""A decoder small enough to train on two cores, in plain torch: RMS norm, rotary positions, SwiGLU, tied head.

Each position is embedded with its own id and the id before it. Copying a number out of the question, which is most of
what a call is, then takes one attention layer instead of two.

Nothing in here knows of reinforcement learning or of tools; ids in, logits out. `TinyModel` puts the module behind
`networks.Model`, so that an engine can sample from it with a key-value cache and train it.

Legend: B rows, T tokens, H heads, K width of a head, D width, V vocabulary, L layers.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from handaxe.core.errors import CheckpointError, InputError
from handaxe.models.tiny_cache import TinySlots
from handaxe.ops.tree_attention import tree_attention
from handaxe.ops.trees import Pack

__all__ = ["Block", "EXPORTED", "TinyConfig", "TinyModel", "TinyNet"]


EXPORTED = "handaxe_tiny"
"""What transformers calls a tiny model that was exported."""
_Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class TinyConfig:
    """Sizes. The default has 0.85M parameters; width 64 has 0.23M, width 256 has 3.3M."""

    vocab_size: int = 264
    width: int = 128
    layers: int = 4
    heads: int = 4
    max_length: int = 512

    @classmethod
    def load(cls, folder: Path) -> "TinyConfig":
        """Read the config.json of a model that was saved or exported. Raises CheckpointError when it is damaged."""
        try:
            found = json.loads((folder / "config.json").read_text())
            if found.get("model_type") == EXPORTED:
                found = {**found, "max_length": found["max_position_embeddings"]}
                found = {one.name: found[one.name] for one in fields(cls)}
            return cls(**found)
        except (OSError, ValueError, TypeError) as error:
            raise _unreadable(folder, error) from error


def _unreadable(folder: Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"no tiny model can be read from {folder}: {error}. "
        "It needs the config.json and model.safetensors that TinyModel.save wrote."
    )


class Block(nn.Module):
    """Attention and a gated feed-forward layer, each behind a norm and added to the stream."""

    def __init__(self, config: TinyConfig):
        super().__init__()
        width, hidden = config.width, 8 * config.width // 3
        self.heads = config.heads
        self.norm_1, self.norm_2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x_BTD: Tensor, turn_BTK: Tensor, attend: _Attend) -> Tensor:
        """The stream after the block."""
        return self.mix(x_BTD, attend(*self.heads_of(x_BTD, turn_BTK)))

    def heads_of(self, x_BTD: Tensor, turn_BTK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys (both turned to their positions) and values, each [B, H, T, K]."""
        qkv = self.qkv(self.norm_1(x_BTD)).view(*x_BTD.shape[:2], 3, self.heads, -1)
        turned, value = _rotate(qkv[:, :, :2], turn_BTK[:, :, None, None]), qkv[:, :, 2]
        return turned[:, :, 0].transpose(1, 2), turned[:, :, 1].transpose(1, 2), value.transpose(1, 2)

    def mix(self, x_BTD: Tensor, attended_BHTK: Tensor) -> Tensor:
        """The rest of the block, after attention."""
        x_BTD = x_BTD + self.out(attended_BHTK.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.norm_2(x_BTD)).chunk(2, -1)
        return x_BTD + self.down(F.silu(gate) * up)


class TinyNet(nn.Module):
    """The network: ids to hidden states, and hidden states to logits."""

    def __init__(self, config: TinyConfig):
        super().__init__()
        if config.width % config.heads or (config.width // config.heads) % 2:
            raise InputError(f"width {config.width} must split into {config.heads} heads of even width")
        self.config = config
        self.embed = nn.Embedding(config.vocab_size, config.width)
        self.embed_before = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.norm = nn.RMSNorm(config.width)
        nn.init.normal_(self.embed.weight, std=0.05)
        nn.init.normal_(self.embed_before.weight, std=0.05)
        for block in self.stack:
            for layer in (block.out, block.down):
                nn.init.normal_(layer.weight, std=0.05 / (2 * config.layers) ** 0.5)

    def hidden(self, ids_BT: Tensor, *, checkpointing: bool = False) -> Tensor:
        """Hidden states [B, T, D]; causal, so padding on the right changes nothing."""
        turn_1TK = self.turn(torch.arange(ids_BT.shape[1], device=ids_BT.device)[None])
        return self._through(self.read(ids_BT), turn_1TK, _causal, checkpointing)

    def hidden_tree(self, pack: Pack, *, checkpointing: bool = False) -> Tensor:
        """Hidden states [N, D] of the tokens of trees."""
        before_ND = self.embed_before(pack.before_N.clamp(min=0)) * (pack.before_N >= 0)[:, None]
        x_1ND = (self.embed(pack.ids_N) + before_ND)[None]
        blocks = pack.spans

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return tree_attention(q[0], k[0], v[0], blocks)[None]

        return self._through(x_1ND, self.turn(pack.depth_N[None]), attend, checkpointing)[0]

    def _through(self, x_BTD: Tensor, turn_BTK: Tensor, attend: _Attend, checkpointing: bool) -> Tensor:
        for block in self.stack:
            if checkpointing and torch.is_grad_enabled():
                x_BTD = checkpoint(block, x_BTD, turn_BTK, attend, use_reentrant=False, preserve_rng_state=False)
            else:
                x_BTD = block(x_BTD, turn_BTK, attend)
        return self.norm(x_BTD)

    def read(self, ids_BT: Tensor) -> Tensor:
        """Embed each id with the one before it; the first has none."""
        before_BTD = F.pad(self.embed_before(ids_BT[:, :-1]), (0, 0, 1, 0))
        return self.embed(ids_BT) + before_BTD

    def head(self, hidden_BTD: Tensor) -> Tensor:
        """Logits of the tied output layer."""
        return hidden_BTD @ self.embed.weight.T

    @property
    def stack(self) -> list[Block]:
        """The blocks, first to last."""
        return [block for block in self.blocks if isinstance(block, Block)]

    def turn(self, position_BT: Tensor) -> Tensor:
        """What turns a head to its position [B, T, 2K]: factors of it, then of it with its halves exchanged."""
        half = self.config.width // self.config.heads // 2
        rate_K = 10000.0 ** (-torch.arange(half, device=position_BT.device, dtype=torch.float64) / half)
        angle = position_BT[..., None].double() * rate_K
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([cos, cos, -sin, sin], -1).to(self.embed.weight.dtype)


def _causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _rotate(x: Tensor, turn: Tensor) -> Tensor:
    straight, across = turn.chunk(2, -1)
    return torch.addcmul(x * straight, x.roll(x.shape[-1] // 2, -1), across)


class TinyModel:
    """A TinyNet as an engine needs it; implements `networks.Model`.

    Attributes:
        checkpointing: compute the blocks again for the gradient instead of keeping what they computed.
    """

    def __init__(self, module: TinyNet, *, pad_id: int = 256):
        self.checkpointing = False
        self.module = module
        self.pad_id = pad_id
        self.vocab_size = module.config.vocab_size
        self.hidden_size = module.config.width
        self.max_length = module.config.max_length

    @classmethod
    def new(cls, config: TinyConfig | None = None, *, seed: int = 0) -> "TinyModel":
        """A model with fresh weights, the same for the same seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(TinyNet(config or TinyConfig()))

    @classmethod
    def load(cls, folder: Path) -> "TinyModel":
        """Read what `save` wrote. Raises CheckpointError when a file is missing, damaged or does not fit."""
        module = TinyNet(TinyConfig.load(folder))
        try:
            module.load_state_dict(load_file(folder / "model.safetensors"))
        except (OSError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
            raise _unreadable(folder, error) from error
        return cls(module)

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(asdict(self.module.config), indent=1))
        save_file({k: v.contiguous() for k, v in self.module.state_dict().items()}, folder / "model.safetensors")

    def hidden(self, ids_BT: Tensor, attend_BT: Tensor) -> Tensor:
        """Right-padded ids -> hidden states [B, T, D]; `attend_BT` is not needed."""
        del attend_BT
        return self.module.hidden(ids_BT, checkpointing=self.checkpointing)

    def head(self, hidden: Tensor) -> Tensor:
        """Logits [..., V] of hidden states [..., D]."""
        return self.module.head(hidden)

    def linear_head(self) -> tuple[Tensor, None]:
        """The output layer's weight [V, D], which is the embedding's; no bias."""
        return self.module.embed.weight, None

    def input_table(self) -> Tensor:
        """What an id is embedded with by itself [V, D]; that of the id before it is another table."""
        return self.module.embed.weight

    def layers(self) -> list[Block]:
        """The blocks, first to last."""
        return self.module.stack

    def reads_trees(self) -> bool:
        """It does."""
        return True

    def hidden_tree(self, pack: Pack) -> Tensor:
        """Hidden states [N, D] of the tokens of trees."""
        return self.module.hidden_tree(pack, checkpointing=self.checkpointing)

    def slots(self) -> TinySlots:
        """An empty cache of keys and values."""
        return TinySlots(self.module)
