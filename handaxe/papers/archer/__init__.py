"""ArCHer: a critic of whole turns learns from what is stored, and says of each fresh turn what it is worth."""

from handaxe.advantages.mask_shared_prefix import mask_shared_prefix
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.transformed import transformed
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.methods.method import Method, replace
from handaxe.papers.archer.replayed_states import replayed_states
from handaxe.papers.archer.utterance_critic import utterance_critic
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.weighted import weighted
from handaxe.rollouts.restarting import restarting

__all__ = ["archer"]


def archer(base: Method, *, restarts: float = 0.5, warm_up: int = 5, critic_rate: float = 1e-3) -> Method:
    """Train turns on what a critic says of them; it learns from the outcomes of attempts from the beginning.

    Args:
        restarts: share of the groups that say one turn at a stored state, to which there is no reply.
        warm_up: steps that teach the critic alone; 20 in the paper.
        critic_rate: its learning rate.
    """
    critic, states = utterance_critic(warm_up=warm_up, learning_rate=critic_rate), replayed_states()
    turns = base.settings.max_turns
    return replace(
        base,
        rollout=restarting(starts=states, share=restarts, answered=False, max_turns=turns),
        learners=(*base.learners, critic, states),
        reward=weighted({"correct": (0.0, base.reward), "turns": (1.0, judged_steps(judge=critic))}),
        credit=transformed(return_to_go(gamma=0.0), mask_shared_prefix()),
        surrogate=reinforce(),
        reduction=rollout_sum(),
    )
