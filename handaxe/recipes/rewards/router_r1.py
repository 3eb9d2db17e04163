"""Router-R1: other models are tools, and a right answer is worth more the less was paid for it."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.ppo import ppo
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.running_cost import running_cost
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.priced import priced

__all__ = ["router_r1"]

TITLE = "Router-R1: Teaching LLMs Multi-Round Routing and Aggregation via Reinforcement Learning"
FREE = "router_r1 --share 0"
RECIPE = Recipe(
    paper=Paper(TITLE, "Router-R1", "2506.09033", 123),
    claims=(
        Claim("Less is paid, as accurate.", "cost", "down", baseline=FREE, same="pass@1", vice=16.0),
        Claim("Less is paid the more cost weighs.", "cost", "down", baseline="router_r1 --share 0.3"),
        Claim("The cheapest who is able is asked more often.", "cheapest", "up", baseline=FREE, vice=0.75),
    ),
    base=ppo,
    world=priced,
    setting=Setting(model="start", steps=30, held_out=150),
)


def router_r1(base: Method, *, share: float = 0.6, window: int = 1000, released: bool = False) -> Method:
    """Train on -1 for a malformed attempt, 0 for a wrong one, and a mixture of right and cheap for the others.

    Args:
        share: a, of the cost in the reward of a right answer; 0 in the released default, the paper sweeps it.
        window: costs remembered; 1000 in the released code.
        released: judge siblings one by one, as the released code does.

    Differs: calls are native and not tags, so the format is that every call can be read, fits its expert, and the
        attempt ends by itself.
    """
    malformed = Rung("format", well_formed(arguments=True), weight=0.0, failed=-1.0)
    routed = Rung("routed", running_cost(base=base.reward, share=share, window=window, released=released))
    return replace(base, reward=ladder((malformed, routed)))
