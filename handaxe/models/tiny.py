"""Small decoder-only transformer that trains on two CPU cores: RMS norm, rotary positions, SwiGLU, tied head.

The input embedding of a position adds the embeddings of its id and of the previous id. Copying a number from the
question into a call then needs one attention layer instead of two.

`TinyNet` is the module: ids to logits, independent of reinforcement learning and tools. `TinyModel` implements
`core.model_api.Model`, for sampling with a KV cache and for training.

With fewer key-value heads than query heads, each key-value head serves a group of neighbouring query heads (grouped
queries, arXiv:2305.13245). The KV cache has the size of the key-value heads.

Legend: B rows, T tokens, H query heads, G key-value heads, K width of a head, D width, V vocabulary, L layers.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.images import Image, is_image_id, unique_images
from handaxe.core.model_api import ImageProcessor
from handaxe.models.tiny_cache import TinySlots
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.models.tiny_vision import TinyVision
from handaxe.ops.token_trees import Pack
from handaxe.ops.tree_attention import tree_attention

__all__ = ["Block", "EXPORTED", "PIECES", "TinyConfig", "TinyModel", "TinyNet"]


EXPORTED = "handaxe_tiny"
"""Model type of an exported tiny model in transformers."""
PIECES = "pieces.json"
"""Vocabulary file of a model that reads pieces instead of bytes; see `models.chat_formats.pieces`."""
_Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class TinyConfig:
    """Sizes of the network. The default has 0.85M parameters; width 64 has 0.23M, width 256 has 3.3M.

    Attributes:
        kv_heads: key-value heads, a divisor of `heads`; None: as many as query heads.
        patch: side in pixels of an image's patches, 4, 8, 16 or 32; 0: no vision.
    """

    vocab_size: int = 264
    width: int = 128
    layers: int = 4
    heads: int = 4
    max_length: int = 512
    kv_heads: int | None = None
    patch: int = 0

    @property
    def cached_heads(self) -> int:
        """Number of key-value heads."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def image_processor(self) -> TinyImageProcessor | None:
        """Image processor of the chat format; None without vision."""
        return TinyImageProcessor(self.patch) if self.patch else None

    def values(self) -> dict[str, int]:
        """Return the fields for config.json, without `kv_heads` of None and `patch` of 0."""
        absent = {"kv_heads": None, "patch": 0}
        return {name: value for name, value in asdict(self).items() if name not in absent or value != absent[name]}

    @classmethod
    def load(cls, folder: Path) -> "TinyConfig":
        """Read the config.json of a saved or exported model. Raises CheckpointError if the file is damaged."""
        try:
            values = json.loads((folder / "config.json").read_text())
            if values.get("model_type") == EXPORTED:
                values = {**values, "max_length": values["max_position_embeddings"]}
                names = {field.name for field in fields(cls)}
                values = {name: value for name, value in values.items() if name in names}
            values.pop("dtype", None)
            return cls(**values)
        except (OSError, ValueError, TypeError) as error:
            raise _unreadable(folder, error) from error


def _unreadable(folder: Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"no tiny model can be read from {folder}: {error}. "
        "The folder needs the config.json and model.safetensors of TinyModel.save."
    )


class Block(nn.Module):
    """Transformer block: attention and a gated MLP, each with pre-normalization and a residual connection."""

    def __init__(self, config: TinyConfig):
        super().__init__()
        width, hidden = config.width, 8 * config.width // 3
        self.heads = config.heads
        self.kv_heads = config.cached_heads
        self.norm_1, self.norm_2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, width + 2 * width // self.heads * self.kv_heads, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x_BTD: Tensor, rotation_BTK: Tensor, attend: _Attend) -> Tensor:
        """Run the block on the residual stream."""
        return self.mix(x_BTD, attend(*self.project(x_BTD, rotation_BTK)))

    def project(self, x_BTD: Tensor, rotation_BTK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute queries [B, H, T, K], keys (both with rotary positions) and values, each [B, G, T, K]."""
        qkv = self.qkv(self.norm_1(x_BTD)).view(*x_BTD.shape[:2], self.heads + 2 * self.kv_heads, -1)
        turned = _rotate(qkv[:, :, : -self.kv_heads], rotation_BTK[:, :, None])
        query, key = turned[:, :, : self.heads], turned[:, :, self.heads :]
        return query.transpose(1, 2), key.transpose(1, 2), qkv[:, :, -self.kv_heads :].transpose(1, 2)

    def mix(self, x_BTD: Tensor, attended_BHTK: Tensor) -> Tensor:
        """Apply the output projection and the MLP after attention."""
        x_BTD = x_BTD + self.out(attended_BHTK.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.norm_2(x_BTD)).chunk(2, -1)
        return x_BTD + self.down(F.silu(gate) * up)


class TinyNet(nn.Module):
    """The network: ids to hidden states, and hidden states to logits."""

    def __init__(self, config: TinyConfig):
        super().__init__()
        if config.width % config.heads or (config.width // config.heads) % 2:
            raise InputError(f"width {config.width} must split into {config.heads} heads of even width")
        if config.cached_heads < 1 or config.heads % config.cached_heads:
            raise InputError(f"kv_heads is {config.cached_heads}: give a divisor of the {config.heads} heads")
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
        self.vision = TinyVision(config.width, config.patch) if config.patch else None

    def hidden(self, ids_BT: Tensor, images: Sequence[Image] = (), *, checkpointing: bool = False) -> Tensor:
        """Compute hidden states [B, T, D]; causal attention excludes padding on the right."""
        rotation_1TK = self.rotation(torch.arange(ids_BT.shape[1], device=ids_BT.device)[None])
        if images:
            before_N = F.pad(ids_BT[:, :-1], (1, 0), value=-1).flatten()
            x_BTD = self.embed_images(ids_BT.flatten(), before_N, images).view(*ids_BT.shape, -1)
        else:
            x_BTD = self.embed_ids(ids_BT)
        return self._run_blocks(x_BTD, rotation_1TK, _causal, checkpointing)

    def hidden_tree(self, pack: Pack, *, checkpointing: bool = False) -> Tensor:
        """Compute the hidden states [N, D] of the tokens of trees."""
        if pack.images:
            x_1ND = self.embed_images(pack.ids_N, pack.before_N, pack.images)[None]
        else:
            before_ND = self.embed_before(pack.before_N.clamp(min=0)) * (pack.before_N >= 0)[:, None]
            x_1ND = (self.embed(pack.ids_N) + before_ND)[None]
        blocks = pack.spans

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return tree_attention(q[0], k[0], v[0], blocks)[None]

        return self._run_blocks(x_1ND, self.rotation(pack.depth_N[None]), attend, checkpointing)[0]

    def _run_blocks(self, x_BTD: Tensor, rotation_BTK: Tensor, attend: _Attend, checkpointing: bool) -> Tensor:
        for block in self.stack:
            if checkpointing and torch.is_grad_enabled():
                x_BTD = checkpoint(block, x_BTD, rotation_BTK, attend, use_reentrant=False, preserve_rng_state=False)
            else:
                x_BTD = block(x_BTD, rotation_BTK, attend)
        return self.norm(x_BTD)

    def embed_ids(self, ids_BT: Tensor) -> Tensor:
        """Add the embeddings of each id and of the previous id; the first position has no previous id."""
        before_BTD = F.pad(self.embed_before(ids_BT[:, :-1]), (0, 0, 1, 0))
        return self.embed(ids_BT) + before_BTD

    def embed_images(self, ids_N: Tensor, before_N: Tensor, images: Sequence[Image]) -> Tensor:
        """Embed tokens [N, D] of which some may be of images. A token after an image has no previous id.

        Args:
            ids_N: token ids.
            before_N: previous ids; -1 for none.
            images: of the image tokens, and possibly others.

        Raises:
            InputError: the network has no vision, or an image is missing.
        """
        if self.vision is None:
            raise InputError("this tiny policy reads no images: make one with TinyConfig(patch=8)")
        is_text_N = ~is_image_id(ids_N)
        has_before_N = (before_N >= 0) & ~is_image_id(before_N)
        before_ND = self.embed_before(before_N.where(has_before_N, 0)) * has_before_N[:, None]
        return self.vision.insert(self.embed(ids_N.where(is_text_N, 0)) + before_ND, ids_N, images)

    def head(self, hidden_BTD: Tensor) -> Tensor:
        """Compute logits by the tied output layer."""
        return hidden_BTD @ self.embed.weight.T

    @property
    def stack(self) -> list[Block]:
        """Return the blocks in order."""
        return [block for block in self.blocks if isinstance(block, Block)]

    def rotation(self, position_BT: Tensor) -> Tensor:
        """Compute rotary factors [B, T, 2K]: K for the head, then K for the head with its halves exchanged."""
        half = self.config.width // self.config.heads // 2
        rate_K = 10000.0 ** (-torch.arange(half, device=position_BT.device, dtype=torch.float64) / half)
        angle = position_BT[..., None].double() * rate_K
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([cos, cos, -sin, sin], -1).to(self.embed.weight.dtype)


def _causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[-3] != k.shape[-3])


def _rotate(x: Tensor, rotation: Tensor) -> Tensor:
    cos, sin = rotation.chunk(2, -1)
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


class TinyModel:
    """TinyNet for engines; implements `core.model_api.Model`, and `VisionModel` if `TinyConfig.patch` is set.

    Attributes:
        image_processor: of a model with vision; others have no such attribute.
        whole_images: False: image tokens attend to earlier tokens only.
        checkpointing: recompute the activations of the blocks in the backward pass (gradient checkpointing).
        pieces: content of the vocabulary file; "" for a model that reads bytes.
    """

    image_processor: ImageProcessor
    whole_images = False

    def __init__(self, module: TinyNet, *, pad_id: int = 256, pieces: str = ""):
        if module.vision is not None:
            self.image_processor = module.vision.processor
        self.checkpointing = False
        self.module = module
        self.pad_id = pad_id
        self.pieces = pieces
        self.vocab_size = module.config.vocab_size
        self.hidden_size = module.config.width
        self.max_length = module.config.max_length

    @classmethod
    def new(cls, config: TinyConfig | None = None, *, seed: int = 0) -> "TinyModel":
        """Make a model with random weights from a seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(TinyNet(config or TinyConfig()))

    @classmethod
    def load(cls, folder: Path) -> "TinyModel":
        """Load a saved model, as float32 weights. Raises CheckpointError if a file is missing, damaged or
        inconsistent."""
        module = TinyNet(TinyConfig.load(folder))
        try:
            module.load_state_dict(load_file(folder / "model.safetensors"))
            pieces = (folder / PIECES).read_text() if (folder / PIECES).is_file() else ""
        except (OSError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
            raise _unreadable(folder, error) from error
        return cls(module, pieces=pieces)

    def save(self, folder: Path, *, dtype: torch.dtype | None = None) -> None:
        """Write config.json, model.safetensors and the vocabulary file, if there is one.

        Args:
            dtype: of the written weights, named in config.json; None: the dtype of the parameters.
        """
        folder.mkdir(parents=True, exist_ok=True)
        named = {} if dtype is None else {"dtype": str(dtype).removeprefix("torch.")}
        (folder / "config.json").write_text(json.dumps(self.module.config.values() | named, indent=1))
        weights = {name: weight.to(dtype or weight.dtype) for name, weight in self.module.state_dict().items()}
        save_file({name: weight.contiguous() for name, weight in weights.items()}, folder / "model.safetensors")
        if self.pieces:
            (folder / PIECES).write_text(self.pieces)

    def extend_context(self, max_length: int) -> None:
        """Raise the context length to `max_length` tokens, in place; rotary positions have no parameters.

        A model with a longer context stays as it is. Positions beyond the old length are untrained.
        """
        if max_length > self.max_length:
            self.module.config = replace(self.module.config, max_length=max_length)
            self.max_length = max_length

    def hidden(self, ids_BT: Tensor, attend_BT: Tensor, images: Sequence[Image] = ()) -> Tensor:
        """Compute hidden states [B, T, D] of right-padded ids; `attend_BT` is not used."""
        del attend_BT
        return self.module.hidden(ids_BT, images, checkpointing=self.checkpointing)

    def head(self, hidden: Tensor) -> Tensor:
        """Compute logits [..., V] from hidden states [..., D]."""
        return self.module.head(hidden)

    def linear_head(self) -> tuple[Tensor, None]:
        """Return the weight [V, D] of the output layer, tied to the input embeddings; no bias."""
        return self.module.embed.weight, None

    def input_table(self) -> Tensor:
        """Return the input embeddings [V, D], without the embeddings of previous ids."""
        return self.module.embed.weight

    def layers(self) -> list[Block]:
        """Return the blocks in order."""
        return self.module.stack

    def reads_trees(self) -> bool:
        """Return True."""
        return True

    def hidden_tree(self, pack: Pack) -> Tensor:
        """Compute the hidden states [N, D] of the tokens of trees."""
        return self.module.hidden_tree(pack, checkpointing=self.checkpointing)

    @property
    def trains_vision(self) -> bool:
        """True if a parameter of the vision tower requires a gradient."""
        return self.module.vision is not None and any(p.requires_grad for p in self.module.vision.parameters())

    def position_shift(self, ids: Sequence[int], images: Mapping[int, Image]) -> int:
        """Return 0: image tokens have consecutive positions."""
        del ids, images
        return 0

    def image_features(self, images: Sequence[Image]) -> list[list[Tensor]]:
        """Compute the features [P, D] of each image; a repeated image is computed once.

        Raises:
            InputError: the model has no vision, or an image is too large.
        """
        if self.module.vision is None:
            raise InputError("this tiny policy reads no images: make one with TinyConfig(patch=8)")
        distinct = unique_images(images)
        features = dict(zip(distinct, self.module.vision(distinct)))
        return [[features[image]] for image in images]

    def slots(self) -> TinySlots:
        """Make an empty KV cache."""
        return TinySlots(self.module)
