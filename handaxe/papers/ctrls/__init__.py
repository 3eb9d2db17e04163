"""CTRLS (arXiv:2507.08182): explore latent transitions of reasoning steps, with the language model frozen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe import rollouts
from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Sampling, Task
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.papers.ctrls.arm_figures import (
    arm_columns,
    bound_gain,
    correct_paths,
    mean_change,
    mean_figures,
    transition_gain,
    turn_shares,
)
from handaxe.papers.ctrls.dirichlet_transitions import transition_counts
from handaxe.papers.ctrls.latent_actions import LatentActions, LatentStep
from handaxe.papers.ctrls.path_figures import path_figures
from handaxe.papers.ctrls.reinforce_transitions import reinforce_transitions
from handaxe.papers.ctrls.spectral_steps import StepStates
from handaxe.rollouts.search.play_search import Played, SearchPlayer
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.worked_steps import worked_steps
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["ctrls"]

TURNS = 8
TEMPERATURE = 0.7
SINGLE = rollouts.linear(max_turns=TURNS)
PRIOR = 1.0


def ctrls(
    *,
    tasks: int = 2,
    seeds: int = 8,
    samples: int = 4,
    candidates: int = 3,
    states: int = 8,
    epsilon: float = 0.3,
    entropy: float = 0.01,
    fitted: int = 24,
    trained: int = 6,
    rounds: int = 2,
    max_tokens: int = 24,
) -> StudyFunction:
    """Fit and reinforce latent transitions with the cold-start checkpoint of `worked_steps`, and measure exploration.

        fit         rollouts of training tasks -> `StepStates`; correct ones -> alpha = 1 + transitions
        reinforce   rollouts conditioned by sampled actions, A = correct less the mean of the task's rollouts
        test        `best_step` by `LatentActions`, several rollouts of a held-out task

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        FIGURE/ARM              paths, accuracy, solved and tokens of `path_figures`. Arms: explore, reinforced and
                                decoded with epsilon and entropy; exploit, both without; fitted, not reinforced and
                                without epsilon; plain, as many tokens of a task as explore used on average
        gain/paths, /accuracy   explore less exploit
        gain/plain, /plain_paths  solved and paths, explore less plain
        gain/reinforced         accuracy, exploit less fitted
        transition_gain         nats a held-out transition of correct rollouts: transitions less frequencies of states
        bound_gain              evidence lower bound of the fit less that of the prior, nats a transition
        explored, choice        share of turns of explore with a random action, and with candidates in several states
        moved                   mean change of a transition probability by reinforcement, sum over states, of explore

    Args:
        tasks: held-out tasks of a seed.
        seeds: of held-out tasks, from the study's seed on.
        samples: rollouts of a task.
        candidates: sampled next turns of a turn.
        states: number of latent states.
        epsilon: probability of a random action.
        entropy: weight of the entropy in reinforcement.
        fitted: training tasks of the fit.
        trained: training tasks of a round of reinforcement.
        rounds: of reinforcement.
        max_tokens: of a turn.

    Example:
        2.0 distinct correct paths of a task with exploration, 1.6 without  ->  gain/paths 0.4
    """

    def measure(seed: int) -> dict[str, float]:
        world = worked_steps()
        policy = start_policy(world)
        engine = local.LocalEngine(policy.model)
        play = SearchPlayer(world.env(world.tools), engine, policy.format, Sampling(TEMPERATURE, max_tokens=max_tokens))
        held_out = [(own, task) for own in range(seed, seed + seeds) for task in world.tasks("test", tasks, own)]
        encoder = StepStates(states=states)
        encoder.begin(engine)

        first = play(SINGLE, _training(world, fitted, seed, "fit"), samples=samples)
        encoder.fit([one for found in first for one in found.group])
        count_RK = transition_counts(correct_paths(world, encoder, first), states)
        alpha_RK = PRIOR + count_RK

        def decode(own_RK: np.ndarray, own_epsilon: float) -> tuple[LatentActions, list[Played]]:
            judge = LatentActions(encoder, own_RK, epsilon=own_epsilon)
            search = rollouts.search.best_step(judge=judge, samples=candidates, max_turns=TURNS)
            return judge, play(search, held_out, samples=samples)

        def reinforced(own_epsilon: float, own_entropy: float) -> np.ndarray:
            own_RK = alpha_RK
            for number in range(rounds):
                judge = LatentActions(encoder, own_RK, epsilon=own_epsilon, sample=True)
                search = rollouts.search.best_step(judge=judge, samples=candidates, max_turns=TURNS)
                found = play(search, _training(world, trained, seed, f"round {number}"), samples=samples)
                own_RK = reinforce_transitions(own_RK, _credited(world, judge, found), entropy=own_entropy)
            return own_RK

        explore_RK = reinforced(epsilon, entropy)
        judge, explored = decode(explore_RK, epsilon)
        arms = {
            "explore": explored,
            "exploit": decode(reinforced(0.0, 0.0), 0.0)[1],
            "fitted": decode(alpha_RK, 0.0)[1],
        }
        used = np.mean([path_figures(world, found.group)["tokens"] for found in explored])
        plain = rollouts.search.best_of(tokens=max(1, round(float(used))), max_turns=TURNS)
        arms["plain"] = play(plain, held_out)
        columns = arm_columns(world, arms, seeds)
        columns["transition_gain"] = transition_gain(world, encoder, alpha_RK, arms["plain"], seeds, prior=PRIOR)
        return {
            "bound_gain": bound_gain(count_RK, prior=PRIOR),
            "moved": mean_change(alpha_RK, explore_RK),
            **turn_shares(judge, explored),
            **mean_figures(columns),
        }

    return measure


def _training(world: World, count: int, seed: int, name: str) -> list[tuple[int, Task]]:
    own = derive_seed(seed, name)
    return [(own, task) for task in world.tasks("train", count, own)]


def _credited(world: World, judge: LatentActions, found: Sequence[Played]) -> list[tuple[list[LatentStep], float]]:
    """Latent steps and advantage of each rollout."""
    credited: list[tuple[list[LatentStep], float]] = []
    for own in found:
        outcome_G = np.nan_to_num(world.correct(own.group).outcome)
        advantage_G = outcome_G - outcome_G.mean()
        credited += [(judge.steps(one), float(adv)) for one, adv in zip(own.group, advantage_G, strict=True)]
    return credited
