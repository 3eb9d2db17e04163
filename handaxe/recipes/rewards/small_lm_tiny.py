"""Small LMs for tool calling, against a larger model: a tiny one that was taught the calls asked for."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.frozen import frozen
from handaxe.training.demonstrated import demonstrated
from handaxe.training.stages.teach import teach
from handaxe.worlds.calls import calls

__all__ = ["small_lm_tiny"]

TITLE = "Small Language Models for Efficient Agentic Tool Calling: Outperforming Large Models with Targeted Fine-tuning"
LARGER = "frozen --model smollm2"
NOTE = "0.85M parameters against 135M; single calls of this repository in the place of ToolBench's conversations."
RECIPE = Recipe(
    paper=Paper(TITLE, "small LMs, tiny", "2512.15943", 132),
    claims=(
        Claim(
            "More is right than by a larger model.", "pass@1", "up", baseline=LARGER, vice=0.6, learned=False, note=NOTE
        ),
        Claim("And than before.", "pass@1", "up", vice=0.6, learned=False, note=NOTE),
    ),
    base=frozen,
    world=calls,
    setting=Setting(steps=1, groups=1, max_turns=1, max_tokens=64, held_out=100),
)


def small_lm_tiny(base: Method, *, taught: int = 960, rate: float = 1e-3) -> Method:
    """Teach the calls that a world asks for; no reinforcement learning.

    Args:
        taught: conversations, each learnt once.
        rate: learning rate.
    """
    shown = demonstrated(world=base.world, count=taught)
    return replace(base, stages=(*base.stages, teach(source=shown, batch_size=32, learning_rate=rate)))
