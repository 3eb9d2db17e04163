"""ArCHer (arXiv:2402.19446): train turns on the advantages of an off-policy critic of whole utterances."""

from handaxe import advantages, credit, rewards, rollouts
from handaxe.losses import reductions, surrogates
from handaxe.methods.method import Method, replace
from handaxe.papers.archer.replayed_states import replayed_states
from handaxe.papers.archer.utterance_critic import utterance_critic

__all__ = ["archer"]


def archer(base: Method, *, restarts: float = 0.5, warm_up: int = 5, critic_rate: float = 1e-3) -> Method:
    """Reinforce turns by min Q(s, a) - min V(s), partly at states drawn from a replay buffer.

    Args:
        restarts: share of the groups that sample one turn at a stored state, without a reply of the environment.
        warm_up: steps that train the critic alone; 20 in the paper.
        critic_rate: learning rate of the critic; 2e-5 in the paper.
    """
    critic, states = utterance_critic(warm_up=warm_up, learning_rate=critic_rate), replayed_states()
    turns = base.settings.max_turns
    return replace(
        base,
        rollout=rollouts.restarting(starts=states, share=restarts, answered=False, max_turns=turns),
        learners=(*base.learners, critic, states),
        reward=rewards.weighted({"correct": (0.0, base.reward), "turns": (1.0, rewards.judged_steps(judge=critic))}),
        credit=credit.transformed(credit.return_to_go(gamma=0.0), advantages.mask_shared_prefix()),
        surrogate=surrogates.reinforce(),
        reduction=reductions.rollout_sum(),
    )
