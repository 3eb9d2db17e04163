"""Network of hops, with one hidden layer."""

import warnings

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["fit_network"]

NEEDS = "the hop model needs scikit-learn: pip install 'handaxe[ml]'"
HIDDEN = 64
EPOCHS = 60


def fit_network(input_PF: np.ndarray, hop_P: np.ndarray, *, seed: int) -> dict[str, np.ndarray]:
    """Fit a network with one hidden layer of rectified units by squared error.

    Args:
        input_PF: features of pairs.
        hop_P: true hops.
        seed: of weights and batches.

    Returns:
        in [F, H], in_bias [H], out [H, 1] and out_bias [1].

    Raises:
        InputError: scikit-learn is missing.

    Example:
        8 features of 6,000 pairs  ->  in [8, 64], in_bias [64], out [64, 1], out_bias [1]

    Idea: a small regressor on frozen features stands for a fine-tuned vision-language model.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor
    except ImportError as error:
        raise InputError(NEEDS) from error
    network = MLPRegressor(
        hidden_layer_sizes=(HIDDEN,), alpha=1e-2, learning_rate_init=2e-3, max_iter=EPOCHS, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(input_PF, hop_P)
    names = ("in", "out")
    found = dict(zip(names, network.coefs_, strict=True))
    return found | {f"{name}_bias": bias for name, bias in zip(names, network.intercepts_, strict=True)}
