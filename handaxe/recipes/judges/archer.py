"""ArCHer: a critic of whole turns learns from what is stored, and says of each fresh turn what it is worth."""

from handaxe.credit.own_part import own_part
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.shaped import shaped
from handaxe.judges.utterance_critic import utterance_critic
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.revisiting import revisiting
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.weighted import weighted
from handaxe.rollouts.restarting import restarting
from handaxe.selection.replayed_states import replayed_states
from handaxe.worlds.twenty_questions import twenty_questions

__all__ = ["archer"]

TITLE = "ArCHer: Training Language Model Agents via Hierarchical Multi-Turn RL"
SOONER = "As much is right after fewer questions than with the group as baseline."
SAMPLED = "As much is right after fewer sampled tokens than with the group as baseline."
TOKENS = "As much is right after fewer questions than with a critic of tokens."
CRITIC = "ppo --base revisiting"
RECIPE = Recipe(
    paper=Paper(TITLE, "ArCHer", "2402.19446", 187),
    claims=(
        Claim(SOONER, "pass@1", "down", over="first", level=0.6, axis="calls", by_turn=True),
        Claim(SAMPLED, "pass@1", "down", over="first", level=0.6, axis="tokens", by_turn=True),
        Claim(TOKENS, "pass@1", "down", baseline=CRITIC, over="first", level=0.6, axis="calls", by_turn=True),
    ),
    base=revisiting,
    world=twenty_questions,
    setting=Setting(model="start", max_turns=8, max_tokens=24, steps=30, held_out=60, eval_every=2),
)


def archer(base: Method, *, restarts: float = 0.5, warm_up: int = 5, critic_rate: float = 1e-3) -> Method:
    """Train turns on what a critic says of them; it learns from the outcomes of attempts from the beginning.

    Differs: the critic reads bags of words and not what an encoder makes of them; turns of attempts from the beginning
    train as well as those at stored states; V is taught at those of this step, too; the actor reads the critic as it
    was before the step, and trains once on it, where the paper trains three times. A turn at a stored state gets
    no reply, so that it costs tokens and no call.

    Args:
        restarts: share of the groups that say one turn at a stored state, to which there is no reply.
        warm_up: steps that teach the critic alone; 20 in the paper.
        critic_rate: its learning rate.
    """
    critic, states = utterance_critic(warm_up=warm_up, learning_rate=critic_rate), replayed_states()
    turns = base.setting.max_turns
    return replace(
        base,
        rollout=restarting(starts=states, share=restarts, answered=False, max_turns=turns),
        learners=(*base.learners, critic, states),
        reward=weighted({"correct": (0.0, base.reward), "turns": (1.0, judged_steps(judge=critic))}),
        credit=shaped(return_to_go(gamma=0.0), own_part()),
        surrogate=reinforce(),
        reduction=rollout_sum(),
    )
