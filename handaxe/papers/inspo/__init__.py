"""INSPO (arXiv:2512.01945): sample system instructions by reward, and evolve the population during training."""

from handaxe import rewards
from handaxe.core.errors import InputError
from handaxe.curricula.advice import rule_mutations
from handaxe.methods.method import Method, replace
from handaxe.papers.inspo.instructed_hops import ADVICE, NEUTRAL, prompt_tags
from handaxe.papers.inspo.instruction_figures import InstructionFigures
from handaxe.papers.inspo.instructions import instructions
from handaxe.papers.inspo.reflection import reflection, shown_rollout
from handaxe.papers.inspo.with_system_prompt import with_system_prompt

__all__ = ["inspo"]

INITIAL = (NEUTRAL, "Use search.", "Search once.", "Answer at once.")


def inspo(base: Method, *, population: int = 4, evolve_every: int = 4) -> Method:
    """Train under instructions sampled by reward; evaluate under the best instruction. `--judge` names who reflects.

    Channel "proposed" has the share of rollouts with an instruction that an evolution added.

    Args:
        population: number of instructions, at most 4; 1 for the fixed initial instruction, which no proposal replaces.
        evolve_every: steps between two evolutions; more than the run's steps leaves a bandit. Unconfirmed.
    """
    pool = instructions(
        initial=_first(population),
        propose=reflection(desk=base.judge.texts(), rule=rule_mutations(advice=ADVICE)),
        every=evolve_every,
        prune=2,
        parents=population,
        tags=prompt_tags,
        conversation=shown_rollout,
        order=base.tasks,
    )
    evaluation = with_system_prompt(rollout=base.rollout, opening=pool.with_best)
    proposed = rewards.outcome(pool.is_proposed)
    reward = rewards.weighted({"whole": (1.0, base.reward), "proposed": (0.0, proposed)})
    learners = (*base.learners, InstructionFigures(pool))
    return replace(base, tasks=pool.curriculum, reward=reward, evaluate_rollout=evaluation, learners=learners)


def _first(population: int) -> tuple[str, ...]:
    if not 1 <= population <= len(INITIAL):
        raise InputError(f"a population has 1 to {len(INITIAL)} instructions at its start, not {population}")
    return INITIAL[:population]
