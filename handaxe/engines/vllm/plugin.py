"""vLLM plugin, runs inside a vLLM server: handaxe's token sampling, and weight updates from files.

vLLM loads the plugin in each of its processes, through the entry point `vllm.general_plugins`. No module of handaxe
imports it, and it imports only token sampling, so that a server's environment needs no other dependencies.

A request with `extra_args={"handaxe": ...}` (written by `engines.vllm.vllm_http`) is sampled by
`engines.local.token_sampling` from uniform numbers of its seed. The logits processor then replaces the logits, so that
greedy sampling selects the sampled id, and vLLM reports three values:

    sampled id       1                  highest, selected by vLLM
    sampled id + 1   behaviour_logp     at least logp, so that sorting separates the two values
    sampled id + 2   logp
    all others       -inf

Both log-probs are returned as exact float32 values with `--logprobs-mode processed_logits` and `logprobs=3`. Other
requests of the server are not affected.

Shapes: N requests of handaxe, B requests of the server, V vocabulary.
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
from handaxe.engines.local.token_sampling import Drawn, DrawRules, draw, draw_rules, uniforms

__all__ = ["FileInit", "FileUpdate", "FileWeights", "HandaxeDraws", "register"]


def register() -> None:
    """Entry point: register the weight transfer backend "handaxe". vLLM may call it several times in a process."""
    with contextlib.suppress(ValueError):
        WeightTransferEngineFactory.register_engine("handaxe", FileWeights)


# --- sampling --------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """Sampling parameters and uniform numbers of a request, and vLLM's list of sampled ids. `forced`: ids to sample
    regardless of the logits, to obtain the log-probs."""

    sampling: Sampling
    uniform_T: np.ndarray
    sampled: list[int]
    forced: list[int]


class HandaxeDraws(LogitsProcessor):
    """Logits processor that samples tokens: `--logits-processors handaxe.engines.vllm.plugin:HandaxeDraws`.

    The n-th token of a request uses the n-th uniform number of its seed, independent of other requests and of
    preemptions.
    """

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool):
        del vllm_config, is_pin_memory
        self._device = device
        self._rows: dict[int, _Row] = {}
        self._rules: DrawRules | None = None

    def is_argmax_invariant(self) -> bool:
        """False: the processor decides the sampled token."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Add, remove and move requests."""
        if process_dict_updates(self._rows, batch_update, _row):
            self._rules = None

    def apply(self, logits: Tensor) -> Tensor:
        """Sample the requests of handaxe and encode the results in their logits; see the module."""
        if not self._rows:
            return logits
        index_N = torch.tensor(list(self._rows), device=logits.device)
        rows = list(self._rows.values())
        if self._rules is None:
            self._rules = draw_rules([row.sampling for row in rows], logits.device)
        # Rows include requests with partly read prompts; vLLM discards their sampled tokens.
        uniforms_N = [row.uniform_T[min(len(row.sampled), len(row.uniform_T) - 1)] for row in rows]
        uniform_N = torch.tensor(np.array(uniforms_N), device=logits.device)
        logits_NV = logits[index_N]
        drawn = _force_ids(rows, logits_NV, self._rules, draw(logits_NV, uniform_N, self._rules))
        vocabulary = logits.shape[1]
        logits_NV = torch.full_like(logits_NV, -torch.inf)
        for shift, value_N in enumerate((torch.ones_like(drawn.logp_B), drawn.behaviour_logp_B, drawn.logp_B)):
            value_N = value_N.to(logits.dtype).nan_to_num(nan=-torch.inf)
            logits_NV.scatter_(1, ((drawn.ids_B + shift) % vocabulary)[:, None], value_N[:, None])
        logits[index_N] = logits_NV
        return logits


def _row(params: Any, prompt: list[int] | None, sampled: list[int]) -> _Row | None:
    """The row of a request of handaxe, None for other requests. The seed is text, because it may exceed 64 bits."""
    del prompt
    draws = (params.extra_args or {}).get("handaxe")
    if draws is None:
        return None
    sampling = Sampling(draws["temperature"], draws["top_p"], draws["top_k"], params.max_tokens)
    drawn = draws["drawn"]
    return _Row(sampling, uniforms(int(draws["seed"]), drawn + params.max_tokens)[drawn:], sampled, draws["forced"])


def _force_ids(rows: list[_Row], logits_NV: Tensor, rules: DrawRules, drawn: Drawn) -> Drawn:
    """Replace sampled ids by forced ids, with the log-probs of the forced ids."""
    forced = [(n, row.forced[len(row.sampled)]) for n, row in enumerate(rows) if len(row.sampled) < len(row.forced)]
    if not forced:
        return drawn
    index_M, ids_M = torch.tensor(forced, device=logits_NV.device).T
    temperature_M = rules.temperature_B[index_M].to(logits_NV.dtype)
    logp_MV = (logits_NV[index_M] / torch.where(temperature_M == 0, 1.0, temperature_M)[:, None]).log_softmax(-1)
    logp_M = logp_MV.gather(1, ids_M[:, None])[:, 0]
    ids_N, logp_N, behaviour_N = (tensor.clone() for tensor in drawn)
    ids_N[index_M] = ids_M
    logp_N[index_M] = behaviour_N[index_M] = logp_M
    return Drawn(ids_N, logp_N, behaviour_N)


# --- weights ---------------------------------------------------------------------------------------------------------


@dataclass
class FileInit(WeightTransferInitInfo):
    """Initialisation message; empty."""


@dataclass
class FileUpdate(WeightTransferUpdateInfo):
    """Update message: path of a safetensors file, readable by every process of the server."""

    path: str


class FileWeights(WeightTransferEngine[FileInit, FileUpdate]):
    """Weight transfer backend "handaxe": loads whole weights from a file by checkpoint name, layer by layer."""

    init_info_cls = FileInit
    update_info_cls = FileUpdate

    def init_transfer_engine(self, init_info: FileInit) -> None:
        """No initialisation."""

    def start_weight_update(self) -> None:
        """Prepare the layers for weights in checkpoint layout."""
        initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: FileUpdate) -> None:
        """Load every tensor of the file."""
        with safe_open(update_info.path, framework="pt") as file:
            self.model.load_weights((name, file.get_tensor(name)) for name in file.keys())  # noqa: SIM118

    def finish_weight_update(self) -> None:
        """Convert the layers to compute layout.

        An output layer tied to the embedding is loaded as the embedding, but vLLM (0.32, on a CPU) keeps a stale packed
        copy of the output layer, which is packed again here.
        """
        finalize_layerwise_reload(self.model, self.model_config)
        for module in self.model.modules():
            if isinstance(module, ParallelLMHead):
                module.quant_method.process_weights_after_loading(module)

    def shutdown(self) -> None:
        """No resources to release."""
