"""INSPO: system instructions are drawn by what they earn and varied while the policy learns to follow them."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rollouts.opened_with import opened_with
from handaxe.selection.instructions import instructions
from handaxe.selection.parts.advice import by_rules
from handaxe.worlds.calls import calls

__all__ = ["inspo"]

SEEDS = ("Use a tool.", "", "Answer at once.", "Think first.")
NOTE = "Evaluated with the instruction of most weight; the first one where weights alone were kept."
RECIPE = Recipe(
    paper=Paper("Agentic Policy Optimization via Instruction-Policy Co-Evolution", "INSPO", "2512.01945", 10),
    claims=(
        Claim("Accuracy ends higher than without instruction.", "pass@1", "up", note=NOTE),
        Claim("And than with one fixed one.", "pass@1", "up", baseline="inspo --population 1 --every 1000", note=NOTE),
        Claim("And than with weights alone.", "pass@1", "up", baseline="inspo --every 1000", note=NOTE),
    ),
    world=calls,
    setting=Setting(model="start", max_turns=1, max_tokens=64),
)


def inspo(base: Method, *, population: int = 4, every: int = 5) -> Method:
    """Train under instructions drawn by what they earn.

    Differs: attempts have one turn, to which there is no reply, and the policy has never read an instruction before,
    so that it has to learn what each means; a new one joins with what it earns now, the others with what they earned
    on the way.

    Args:
        population: how many there are, at most 4.
        every: steps between two evolutions; unconfirmed. More than the run has leaves a bandit.
    """
    known = instructions(initial=SEEDS[:population], propose=by_rules(), every=every, order=base.tasks)
    best = opened_with(rollout=base.rollout, opening=known.with_best)
    return replace(base, tasks=known.curriculum, evaluate_rollout=best)
