"""Model predictive control by sampled sequences of controls."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["predictive_sampling"]

Advance = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(states [N, D], controls [N, A]) -> states [N, D] of the next step."""
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(states [H, N, D], controls [H, N, A]) -> rewards [H, N]; a state is the one after its control."""


def predictive_sampling(
    state_D: np.ndarray,
    *,
    advance: Advance,
    score: Score,
    axes: int,
    steps: int,
    samples: int = 32,
    horizon: int = 8,
    hold: int = 8,
    noise: float = 0.5,
    seed: int = 0,
) -> np.ndarray:
    """Control a system for some steps; each step samples plans around the plan of the step before.

        plans_0 = plan,  plans_n = clip(plan + noise * n / (N - 1) * e_n, -1, 1)       e_n standard normal, held
        plan    = argmax_n sum_h score(state_h, control_h) over the horizon; the first of equal sums
        the first control of the plan is executed, and the plan is shifted by a step

    Args:
        state_D: [D] state at the start.
        advance: moves states by a step.
        score: reward of states and controls.
        axes: A, controls of a step, each in [-1, 1].
        steps: executed steps, T.
        samples: N, plans of a step, with the plan of the step before.
        horizon: H, steps of a plan.
        hold: steps for which a drawn control is held.
        noise: standard deviation of the drawn controls of the last plan; the others have smaller ones.
        seed: of the draws.

    Returns:
        [T + 1, D] states, the first is the start.

    Raises:
        InputError: a number below 1, or noise below 0.

    Example:
        position and reward -position^2, start 1: the position goes to 0, since plans towards 0 have the largest sum

    Paper: arXiv:2306.08647 (Language to Rewards), the motion controller: receding horizon optimisation of the reward.
    Unconfirmed: number of samples and horizon.
    Differs: predictive sampling with held controls and no splines, the simplest optimiser of MuJoCo MPC.
    """
    if min(axes, steps, samples, horizon, hold) < 1 or noise < 0:
        raise InputError(
            f"axes, steps, samples, horizon and hold are {axes}, {steps}, {samples}, {horizon} and {hold}, noise "
            f"{noise}: give numbers of 1 or more, and noise of 0 or more"
        )
    rng = np.random.default_rng(seed)
    plan_HA = np.zeros((horizon, axes))
    knots = -(-horizon // hold)
    scale_N = noise * np.arange(1, samples) / max(1, samples - 1)
    states = [np.asarray(state_D, np.float64)]
    for _ in range(steps):
        drawn = rng.standard_normal((knots, samples - 1, axes)).repeat(hold, axis=0)[:horizon] * scale_N[:, None]
        plans_HNA = np.concatenate([plan_HA[:, None], np.clip(plan_HA[:, None] + drawn, -1, 1)], axis=1)
        ahead_ND = np.repeat(states[-1][None], samples, axis=0)
        found = []
        for control_NA in plans_HNA:
            ahead_ND = advance(ahead_ND, control_NA)
            found.append(ahead_ND)
        best = int(score(np.stack(found), plans_HNA).sum(axis=0).argmax())
        states.append(advance(states[-1][None], plans_HNA[:1, best])[0])
        plan_HA = np.concatenate([plans_HNA[1:, best], plans_HNA[-1:, best]])
    return np.stack(states)
