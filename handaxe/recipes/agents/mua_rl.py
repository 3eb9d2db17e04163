"""MUA-RL: a simulated user inside the rollout, who is another one in every attempt; only the end is rewarded."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.state_and_outputs import state_and_outputs
from handaxe.rollouts.drawn_metadata import drawn_metadata
from handaxe.worlds.tau2 import tau2

__all__ = ["mua_rl"]

TITLE = "MUA-RL: Multi-turn User-interacting Agent Reinforcement Learning for agentic tool use"
NOTE = "The start learned from talks with static users; no training has a hard one, which evaluations do."
RECIPE = Recipe(
    paper=Paper(TITLE, "MUA-RL", "2508.18669", 21),
    claims=(
        Claim("More users are helped than at the start.", "pass@1", "up", baseline="start"),
        Claim("Also users of an unseen kind.", "pass@1", "up", baseline="start", where=("persona", "hard"), note=NOTE),
        Claim(
            "More of them than after training with a user who leaves nothing to chance.",
            "pass@1",
            "up",
            baseline="mua_rl --users static",
            where=("persona", "hard"),
            vice=0.3,
            note=NOTE,
        ),
    ),
    base=partial(grpo, kl_coefficient=0.001),
    world=partial(tau2, brief=True, personas=("static",), test_personas=("plain", "hard")),
    setting=Setting(model="start", max_turns=10, held_out=30, samples=4),
)


def mua_rl(base: Method, *, users: tuple[str, ...] = ("plain", "easy")) -> Method:
    """Train with a user drawn for each attempt, on the final state and on what the user was told.

    Differs: the agent has no tools of its own, it only talks to a user who acts by rules; the tasks are telecom's, in
    which there is nothing that the user must be told; siblings meet users of different kinds. What is right in
    evaluations is tau2's own judgement, which lets databases end otherwise where nothing hangs on it.

    Args:
        users: personas of which one is drawn; in the paper a language model varies by its sampling.
    """
    return replace(base, rollout=drawn_metadata(base.rollout, key="persona", among=users), reward=state_and_outputs())
