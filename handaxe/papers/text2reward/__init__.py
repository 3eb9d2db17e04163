"""Text2Reward (arXiv:2309.11489): run each reward program before training, and return errors to the author."""

from handaxe.methods.method import Method
from handaxe.methods.program_author import program_author
from handaxe.methods.search_reward import search_reward
from handaxe.papers.text2reward.behaviour import behaviour
from handaxe.papers.text2reward.example_programs import read_examples
from handaxe.papers.text2reward.numbers_class import numbers_class
from handaxe.papers.text2reward.retrieved_examples import retrieved_examples
from handaxe.training.stages.parts.repaired import repaired

__all__ = ["text2reward"]


def text2reward(
    base: Method,
    *,
    programs: int = 4,
    rounds: int = 2,
    trial_steps: int = 4,
    repairs: int = 3,
    author: str = "grammar",
    examples: int = 0,
    pool: str = "",
) -> Method:
    """Replace the base's reward by the best program of a search with checks before training.

    Args:
        programs: programs of a round.
        rounds: of programs; a later round reads the behaviour that the best program of the round before led to.
        trial_steps: training steps of a program's trial.
        repairs: most errors of a program that return to its author; 0 trains with whatever was written.
        author: who writes the programs: grammar, the name or folder of a model, or http://HOST/v1#NAME for a model of
            a chat server.
        examples: examples of other tasks in the request to a model, the most similar of the pool.
        pool: file of JSON Lines with "instruction" and "program"; by default six examples of this package.
    """
    goal = base.world.name
    describe = retrieved_examples(numbers_class, pool=read_examples(pool), goal=goal, count=examples, author=author)
    written_by = program_author(author, goal=goal, describe=describe)
    return search_reward(
        base,
        author=repaired(author=written_by.write, repair=written_by.repair, repairs=repairs),
        feedback=behaviour(),
        programs=programs,
        rounds=rounds,
        trial_steps=trial_steps,
    )
