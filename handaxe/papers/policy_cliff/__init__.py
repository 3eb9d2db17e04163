"""Policy cliff (arXiv:2507.20150): measure how far optimal policies move when a reward changes a little."""

from collections.abc import Mapping

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.finite_mdp import (
    FiniteMdp,
    expected_reward,
    mean_return,
    optimal_action_values,
    random_mdp,
    softmax_policy,
)
from handaxe.ops.seeds import generator
from handaxe.ops.stats import interval_figures
from handaxe.papers.policy_cliff.effective_reward import effective_reward
from handaxe.papers.policy_cliff.policy_shift import policy_shift, shift_bound
from handaxe.papers.policy_cliff.tied_reward import tied_reward

__all__ = ["policy_cliff"]

SIZES = (0.1, 0.001, 1e-6)
TEMPERATURES = (0.01, 0.1, 1.0)
SMALL = 0.001


def policy_cliff(
    *,
    processes: int = 16,
    states: int = 6,
    actions: int = 4,
    discount: float = 0.8,
    temperature: float = 0.1,
) -> StudyFunction:
    """Compare the optimal policies of r + e and r - e, where no entry of e is above a small size.

    Figures, means over states and processes, with the ends NAME/low and NAME/high of the 95 % interval:
        tied/hard/SIZE      shift without entropy bonus if two actions of each state are optimal
        unique/hard/SIZE    the same if one action is optimal
        tied/soft/SIZE      with entropy bonus
        bound               largest shift with entropy bonus, over all sizes and temperatures, divided by its bound
        temperature/T/shift, temperature/T/loss    shift for size 0.001, and return lost by the entropy bonus as a share
                            of the range between best and worst policy
        trade/shift, trade/loss    lowest temperature less highest, and the reverse
        effective/hard, effective/soft    shift if a second reward has the weight 0.001 or -0.001

    Args:
        processes: random processes.
        states: of a process.
        actions: of a process, 2 or more.
        discount: of a process.
        temperature: of the entropy bonus.
    """

    def measure(seed: int) -> dict[str, float]:
        found = [one_process(generator("policy_cliff", seed, n)) for n in range(processes)]
        figures = {"bound": max(one.pop("bound") for one in found)}
        for name in found[0]:
            figures |= interval_figures(name, [one[name] for one in found])
        return figures

    def one_process(rng: np.random.Generator) -> dict[str, float]:
        mdp = random_mdp(rng, states=states, actions=actions, discount=discount)
        tied_SA, unique_SA = (tied_reward(rng, mdp, optimal=number) for number in (2, 1))
        change_SA = rng.uniform(-1.0, 1.0, size=(states, actions))
        other_SA = expected_reward(mdp, rng.normal(size=mdp.transition_SAZ.shape))
        by_size = {size: _shift(mdp, tied_SA, size * change_SA, temperature) for size in SIZES}
        by_heat = {heat: _shift(mdp, tied_SA, SMALL * change_SA, heat) for heat in TEMPERATURES}
        return {
            "bound": max(_bound_ratios(by_size, by_heat, temperature, discount)),
            **{f"tied/hard/{size:g}": _shift(mdp, tied_SA, size * change_SA).mean() for size in SIZES},
            **{f"unique/hard/{size:g}": _shift(mdp, unique_SA, size * change_SA).mean() for size in SIZES},
            **{f"tied/soft/{size:g}": one_S.mean() for size, one_S in by_size.items()},
            **_trade(mdp, tied_SA, by_heat),
            **_effective(mdp, tied_SA, other_SA, temperature),
        }

    return measure


def _bound_ratios(
    by_size: Mapping[float, np.ndarray], by_heat: Mapping[float, np.ndarray], temperature: float, discount: float
) -> list[float]:
    """Largest shift of each setting with entropy bonus, divided by the bound of the setting."""
    settings = [(size, temperature, shift_S) for size, shift_S in by_size.items()]
    settings += [(SMALL, heat, shift_S) for heat, shift_S in by_heat.items()]
    return [
        float(shift_S.max() / shift_bound(2 * size, temperature=heat, discount=discount))
        for size, heat, shift_S in settings
    ]


def _trade(mdp: FiniteMdp, reward_SA: np.ndarray, by_heat: Mapping[float, np.ndarray]) -> dict[str, float]:
    """Shift and lost return of each temperature, and what the highest temperature saves and costs."""
    loss = {heat: _loss(mdp, reward_SA, heat) for heat in TEMPERATURES}
    return {
        **{f"temperature/{heat:g}/shift": shift_S.mean() for heat, shift_S in by_heat.items()},
        **{f"temperature/{heat:g}/loss": one for heat, one in loss.items()},
        "trade/shift": by_heat[TEMPERATURES[0]].mean() - by_heat[TEMPERATURES[-1]].mean(),
        "trade/loss": loss[TEMPERATURES[-1]] - loss[TEMPERATURES[0]],
    }


def _effective(mdp: FiniteMdp, first_SA: np.ndarray, second_SA: np.ndarray, temperature: float) -> dict[str, float]:
    """Shift between the two signs of a small weight of the second reward."""
    states, rewards_KSA = len(first_SA), np.stack([first_SA, second_SA])
    ends = [effective_reward(rewards_KSA, np.array([[1.0] * states, [sign * SMALL] * states])) for sign in (1, -1)]
    return {
        "effective/hard": policy_shift(mdp, *ends).mean(),
        "effective/soft": policy_shift(mdp, *ends, temperature=temperature).mean(),
    }


def _shift(mdp: FiniteMdp, reward_SA: np.ndarray, change_SA: np.ndarray, temperature: float = 0.0) -> np.ndarray:
    return policy_shift(mdp, reward_SA + change_SA, reward_SA - change_SA, temperature=temperature)


def _loss(mdp: FiniteMdp, reward_SA: np.ndarray, temperature: float) -> float:
    """Return lost by the entropy bonus, as a share of the range of returns."""
    best = mean_return(mdp, softmax_policy(optimal_action_values(mdp, reward_SA)), reward_SA)
    worst = mean_return(mdp, softmax_policy(optimal_action_values(mdp, -reward_SA)), reward_SA)
    q_SA = optimal_action_values(mdp, reward_SA, temperature=temperature)
    return (best - mean_return(mdp, softmax_policy(q_SA, temperature=temperature), reward_SA)) / (best - worst)
