"""Latent states of reasoning steps: spectral features of hidden states, and their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine
from handaxe.core.records import Trajectory

__all__ = ["StepStates", "spectral_features"]

NEEDS = "latent states of steps need scikit-learn: pip install 'handaxe[ml]'"


def spectral_features(hidden_TD: np.ndarray, *, rank: int = 8) -> np.ndarray:
    """Describe the tokens of a step by the leading eigenpairs of the Gram matrix of their hidden states.

        G = H' H = sum_i lambda_i q_i q_i'            lambda_1 >= lambda_2 >= ...
        e = (sqrt(lambda_1) q_1, ..., sqrt(lambda_rank) q_rank)

    The order of the tokens has no influence. Each q_i has a positive component of greatest magnitude, and pairs beyond
    the rank of H are 0.

    Args:
        hidden_TD: H, a row a token, at least one.
        rank: number of eigenpairs, >= 1.

    Returns:
        [rank * D] float64.

    Raises:
        InputError: not a matrix with a row, or a rank below 1.

    Example:
        rows (3, 0), (0, -2) and rank 2: G = diag(9, 4)  ->  (3, 0, 0, 2)

    Paper: arXiv:2507.08182 (CTRLS), the spectral embedding of a step, equation 5.
    Unconfirmed: the equation, read in notes on the paper; the rank, the layer of the hidden states, and scaling.
    Differs: the sign of an eigenvector is fixed, since it is arbitrary.
    """
    hidden_TD = np.asarray(hidden_TD, np.float64)
    if hidden_TD.ndim != 2 or not hidden_TD.size or rank < 1:
        raise InputError(
            f"spectral features of shape {hidden_TD.shape} and rank {rank}: give [T, D] states and rank 1 up"
        )
    _, scale_K, vector_KD = np.linalg.svd(hidden_TD, full_matrices=False)
    largest_K = np.abs(vector_KD).argmax(axis=1)
    sign_K = np.sign(vector_KD[np.arange(len(vector_KD)), largest_K])
    feature_RD = np.zeros((rank, hidden_TD.shape[1]))
    kept = min(rank, len(scale_K))
    feature_RD[:kept] = (scale_K * sign_K)[:kept, None] * vector_KD[:kept]
    return feature_RD.reshape(-1)


class StepStates:
    """Latent state of each turn of a rollout: the k-means cluster of its spectral features.

        s_k = argmin_c |e_k - mean_c|^2         e_k: `spectral_features` of the tokens of turn k, read after all before

    Args:
        states: number of clusters, >= 2.
        rank: eigenpairs of a turn.

    Raises:
        InputError: fewer than 2 states, a use before `fit`, fewer steps than states, an engine without a local model,
            or scikit-learn is missing.

    Example:
        a rollout of 3 turns and 4 states  ->  such as [0, 2, 3]

    Paper: arXiv:2507.08182 (CTRLS), latent states of reasoning steps by k-means.
    Unconfirmed: the number of clusters.
    Differs: a step is a turn, with its call.
    """

    def __init__(self, *, states: int = 8, rank: int = 8):
        if states < 2 or rank < 1:
            raise InputError(f"{states} states of rank {rank}: give 2 states or more and rank 1 up")
        self.count = states
        self._rank = rank
        self._engine: Any = None
        self._means_CF: np.ndarray | None = None
        self._known: dict[bytes, int] = {}

    def begin(self, engine: Engine) -> None:
        """Read hidden states from the engine's model."""
        if not hasattr(engine, "model"):
            raise InputError(f"{type(engine).__name__} shows no hidden states of a model: use the local engine")
        self._engine = engine

    def features(self, one: Trajectory) -> np.ndarray:
        """[N, rank * D] features of the turns."""
        if self._engine is None:
            raise InputError("the model is missing: call begin(engine) first")
        hidden = [self._hidden(sequence.ids) for sequence in one.sequences]
        own = [spectral_features(hidden[turn.sequence][turn.start : turn.stop], rank=self._rank) for turn in one.turns]
        return np.stack(own) if own else np.zeros((0, 0))

    def fit(self, trajectories: Sequence[Trajectory]) -> None:
        """Fit the clusters to all turns."""
        try:
            from sklearn.cluster import KMeans
        except ImportError as error:
            raise InputError(NEEDS) from error
        feature_NF = [row for one in trajectories for row in self.features(one)]
        if len(feature_NF) < self.count:
            raise InputError(f"{len(feature_NF)} steps for {self.count} states: give more rollouts or fewer states")
        clusters = KMeans(n_clusters=self.count, random_state=0, n_init=4).fit(np.stack(feature_NF))
        self._means_CF = np.asarray(clusters.cluster_centers_, np.float64)
        self._known.clear()

    def states(self, one: Trajectory) -> np.ndarray:
        """[N] int64 states of the turns; a turn after the same tokens is read once."""
        if self._means_CF is None:
            raise InputError("the clusters are missing: call fit(trajectories) first")
        keys = [one.sequences[turn.sequence].ids[: turn.stop].tobytes() for turn in one.turns]
        if not all(key in self._known for key in keys):
            for key, feature_F in zip(keys, self.features(one), strict=True):
                self._known[key] = int(((self._means_CF - feature_F) ** 2).sum(axis=1).argmin())
        return np.array([self._known[key] for key in keys], np.int64)

    def _hidden(self, ids_T: np.ndarray) -> np.ndarray:
        """[T, D] last hidden states of a sequence."""
        device = self._engine.device
        ids_BT = torch.as_tensor(np.asarray(ids_T, np.int64))[None].to(device)
        with torch.inference_mode():
            hidden_BTD = self._engine.model.hidden(ids_BT, torch.ones_like(ids_BT, dtype=torch.bool))
        hidden_TD: np.ndarray = hidden_BTD[0].double().cpu().numpy()
        return hidden_TD
