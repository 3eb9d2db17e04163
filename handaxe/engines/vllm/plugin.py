"""What runs inside of a vLLM server: handaxe's draws in place of vLLM's, and weights that come from files.

vLLM loads it in each of its processes, through the entry point `vllm.general_plugins`. It is imported nowhere in
handaxe, and imports of it only how a token is drawn, so that a server's environment needs nothing else.

A request that asks for it (`extra_args={"handaxe": ...}`, which `engines.vllm.http` writes) is drawn by
`engines.local.token_sampling` from its own uniform numbers. vLLM samples greedily from what is left of its logits, and
says the three highest:

    drawn id      1                    so it is the one that vLLM takes
    next id       behaviour_logp       never below logp, so the order of the two tells which is which
    the one after logp
    all others    -inf

Both come back as the float32 that they were drawn as, given `--logprobs-mode processed_logits` and `logprobs=3`. Other
requests of the server are left alone.

Shapes: N requests that ask for it, B requests of the server, V vocabulary.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors import safe_open
from torch import Tensor
from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload
from vllm.v1.sample.logits_processor import LogitsProcessor
from vllm.v1.sample.logits_processor.builtin import process_dict_updates

from handaxe.core.records import Sampling
from handaxe.engines.local.token_sampling import Drawn, DrawRules, draw, rules, uniforms

__all__ = ["FileInit", "FileUpdate", "FileWeights", "HandaxeDraws", "register"]


def register() -> None:
    """The entry point: make the weight backend "handaxe" known. vLLM may call it more than once in a process."""
    with contextlib.suppress(ValueError):
        WeightTransferEngineFactory.register_engine("handaxe", FileWeights)


# --- draws -----------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """How a request is drawn, its uniform numbers, and the list that vLLM appends its tokens to. `forced`: these ids
    are taken one after another, whatever is likely, to be told their log-probs."""

    sampling: Sampling
    uniform_T: np.ndarray
    written: list[int]
    forced: list[int]


class HandaxeDraws(LogitsProcessor):
    """The logits processor: `--logits-processors handaxe.engines.vllm.plugin:HandaxeDraws`.

    The n-th token of a request takes the n-th uniform number of its seed, whatever else the server does and however
    often the request is preempted.
    """

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool):
        del vllm_config, is_pin_memory
        self._device = device
        self._rows: dict[int, _Row] = {}
        self._rules: DrawRules | None = None

    def is_argmax_invariant(self) -> bool:
        """It decides which token is taken."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Requests came, went or moved."""
        if process_dict_updates(self._rows, batch_update, _row):
            self._rules = None

    def apply(self, logits: Tensor) -> Tensor:
        """Write what was drawn over the rows that ask for it; see the head of this file."""
        if not self._rows:
            return logits
        index_N = torch.tensor(list(self._rows), device=logits.device)
        rows = list(self._rows.values())
        if self._rules is None:
            self._rules = rules([row.sampling for row in rows], logits.device)
        # A request whose prompt is not wholly read is among the rows, too; what is drawn for it is thrown away.
        uniforms_N = [row.uniform_T[min(len(row.written), len(row.uniform_T) - 1)] for row in rows]
        uniform_N = torch.tensor(np.array(uniforms_N), device=logits.device)
        logits_NV = logits[index_N]
        drawn = _forced(rows, logits_NV, self._rules, draw(logits_NV, uniform_N, self._rules))
        vocabulary = logits.shape[1]
        logits_NV = torch.full_like(logits_NV, -torch.inf)
        for shift, value_N in enumerate((torch.ones_like(drawn.logp_B), drawn.behaviour_logp_B, drawn.logp_B)):
            value_N = value_N.to(logits.dtype).nan_to_num(nan=-torch.inf)
            logits_NV.scatter_(1, ((drawn.ids_B + shift) % vocabulary)[:, None], value_N[:, None])
        logits[index_N] = logits_NV
        return logits


def _row(params: Any, prompt: list[int] | None, written: list[int]) -> _Row | None:
    """The row of a request that asks for it. The seed comes as text, since it may have more than 64 bits."""
    del prompt
    asked = (params.extra_args or {}).get("handaxe")
    if asked is None:
        return None
    sampling = Sampling(asked["temperature"], asked["top_p"], asked["top_k"], params.max_tokens)
    drawn = asked["drawn"]
    return _Row(sampling, uniforms(int(asked["seed"]), drawn + params.max_tokens)[drawn:], written, asked["forced"])


def _forced(rows: list[_Row], logits_NV: Tensor, how: DrawRules, drawn: Drawn) -> Drawn:
    """What was drawn, with the forced ids in the places of those that were."""
    forced = [(n, row.forced[len(row.written)]) for n, row in enumerate(rows) if len(row.written) < len(row.forced)]
    if not forced:
        return drawn
    index_M, ids_M = torch.tensor(forced, device=logits_NV.device).T
    temperature_M = how.temperature_B[index_M].to(logits_NV.dtype)
    logp_MV = (logits_NV[index_M] / torch.where(temperature_M == 0, 1.0, temperature_M)[:, None]).log_softmax(-1)
    logp_M = logp_MV.gather(1, ids_M[:, None])[:, 0]
    ids_N, logp_N, behaviour_N = (tensor.clone() for tensor in drawn)
    ids_N[index_M] = ids_M
    logp_N[index_M] = behaviour_N[index_M] = logp_M
    return Drawn(ids_N, logp_N, behaviour_N)


# --- weights ---------------------------------------------------------------------------------------------------------


@dataclass
class FileInit(WeightTransferInitInfo):
    """Nothing has to be agreed before."""


@dataclass
class FileUpdate(WeightTransferUpdateInfo):
    """Where the weights are: a safetensors file that every process of the server can read."""

    path: str


class FileWeights(WeightTransferEngine[FileInit, FileUpdate]):
    """The weight backend "handaxe": whole weights by the names of a checkpoint, layer by layer out of one file."""

    init_info_cls = FileInit
    update_info_cls = FileUpdate

    def init_transfer_engine(self, init_info: FileInit) -> None:
        """Nothing to be done."""

    def start_weight_update(self) -> None:
        """Have the layers take weights in the form of a checkpoint again."""
        initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: FileUpdate) -> None:
        """Load every tensor of the file."""
        with safe_open(update_info.path, framework="pt") as file:
            self.model.load_weights((name, file.get_tensor(name)) for name in file.keys())  # noqa: SIM118

    def finish_weight_update(self) -> None:
        """Bring the layers into the form that they are computed in.

        An output layer that is tied to the embedding is loaded as the embedding, and vLLM (0.32, on a CPU) keeps the
        packed copy that it made of it before: it is packed again here.
        """
        finalize_layerwise_reload(self.model, self.model_config)
        for module in self.model.modules():
            if isinstance(module, ParallelLMHead):
                module.quant_method.process_weights_after_loading(module)

    def shutdown(self) -> None:
        """Nothing is held."""
