"""INSPO (arXiv:2512.01945): sample system instructions by reward, and evolve the population during training."""

from handaxe import rewards
from handaxe.curricula.advice import rule_mutations
from handaxe.methods.method import Method, replace
from handaxe.papers.inspo.instructions import instructions
from handaxe.papers.inspo.with_system_prompt import with_system_prompt

__all__ = ["inspo"]

INITIAL = ("Use a tool.", "", "Answer at once.", "Think first.")


def inspo(base: Method, *, population: int = 4, evolve_every: int = 5) -> Method:
    """Train under instructions sampled by reward; evaluate under the best instruction.

    Channel "proposed" has the share of rollouts with an instruction that an evolution added.

    Args:
        population: number of instructions, at most 4.
        evolve_every: steps between two evolutions; more than the run's steps leaves a bandit. Unconfirmed.
    """
    pool = instructions(initial=INITIAL[:population], propose=rule_mutations(), every=evolve_every, order=base.tasks)
    evaluation = with_system_prompt(rollout=base.rollout, opening=pool.with_best)
    proposed = rewards.outcome(pool.is_proposed)
    reward = rewards.weighted({"whole": (1.0, base.reward), "proposed": (0.0, proposed)})
    return replace(base, tasks=pool.curriculum, reward=reward, evaluate_rollout=evaluation)
