"""A process reward model for a method: fitted before training on labels of the world's rule, and frozen."""

from handaxe import judges
from handaxe.core.protocols import Stage
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method
from handaxe.training.stages.fit import fit

__all__ = ["step_reward_model"]


def step_reward_model(base: Method, *, groups: int = 24, epochs: int = 8) -> tuple[RewardModel, Stage]:
    """Make a copy of the policy with a head that gives the probability of a correct step, and the stage that fits it.

    List the model in `learners`, so that checkpoints hold its weights; it does not learn in the loop.

    Args:
        groups: groups of the first policy whose turns the world's `verdicts` label: correct above 0.
        epochs: passes over these turns.

    Returns:
        The model, a step judge with scores in [0, 1], and the stage.

    Raises:
        InputError: the world has no verdicts.
    """
    rule = judges.exact_steps(verdicts=base.world.need("verdicts"))
    model = judges.reward_model(
        reads="turns", steps=rule, squash=True, batch_size=4, fit_epochs=epochs, learning_rate=3e-4, learns=False
    )
    return model, fit(judge=model, source=labelled_rollouts(base, groups=groups))
