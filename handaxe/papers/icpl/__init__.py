"""ICPL (arXiv:2410.17233): search for a reward program by a preferred and a rejected program of each round."""

from handaxe.methods.method import Method
from handaxe.methods.program_author import program_author
from handaxe.methods.search_reward import search_reward
from handaxe.papers.icpl.preference import preference
from handaxe.training.stages.parts.repaired import repaired

__all__ = ["icpl"]


def icpl(
    base: Method,
    *,
    programs: int = 4,
    rounds: int = 3,
    trial_steps: int = 4,
    preferences: bool = True,
    author: str = "grammar",
) -> Method:
    """Replace the base's reward by the best program of a search with preferences and no measure of success.

    Args:
        programs: K, programs of a round; 6 in the paper.
        rounds: of the search; 5 in the paper.
        trial_steps: training steps of a program's trial.
        preferences: choose the preferred and the rejected program by the task's measure; without, by chance.
        author: who writes the programs: grammar, the name or folder of a model, or http://HOST/v1#NAME for a model of
            a chat server.
    """
    written_by = program_author(author, goal=base.world.name)
    return search_reward(
        base,
        author=repaired(author=written_by.write, repair=written_by.repair),
        feedback=preference(informed=preferences),
        programs=programs,
        rounds=rounds,
        trial_steps=trial_steps,
    )
