"""Supervised fine-tuning on a world's worked solutions, with tool calls for their computations."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.training.sft.calls_from_solutions import calls_from_solutions
from handaxe.training.stages.teach import teach
from handaxe.worlds.world import World

__all__ = ["teach_solutions"]


def teach_solutions(
    *,
    world: World,
    count: int,
    passes: int = 1,
    tool: str = "calculator",
    argument: str = "expression",
    batch_size: int = 32,
    learning_rate: float = 1e-3,
) -> Stage:
    """Make a stage that learns from solutions rewritten with executed tool calls.

        loss = - mean over a batch's tokens of log pi(token)        of words, calls and answers; replies do not train

    Args:
        world: has `solution`; `training.sft.calls_from_solutions` documents the unusable ones.
        count: conversations, >= 0; 0 does nothing, for a method with this stage as an option.
        passes: over them, >= 0, each in a new order; 0 does nothing.
        tool, argument: the computing tool, and its argument for an expression.
        batch_size: conversations per optimiser step.
        learning_rate: of every step.

    Returns:
        A stage: metrics of each optimiser step, possibly none.

    Raises:
        InputError: count or passes below 0; when it runs, an error of `calls_from_solutions`.

    Example:
        teach_solutions(world=slips(), count=64) takes two steps of 32 conversations of a call and an answer each

    Paper: arXiv:2512.20745 (AgentMath) and arXiv:2509.13761 (THOR), which both begin with tool-augmented data.
    Unconfirmed: the amount of it, in either paper.
    Differs: see `calls_from_solutions`; in THOR the policy writes the text and another model the code.
    """
    if count < 0 or passes < 0:
        raise InputError(f"count is {count} and passes {passes}; give 0 or more of each")

    def stage(site: StageContext) -> list[dict[str, float]]:
        if not count or not passes:
            return []
        source = calls_from_solutions(world=world, count=count, tool=tool, argument=argument)
        return teach(source=source, epochs=passes, batch_size=batch_size, learning_rate=learning_rate)(site)

    return stage
