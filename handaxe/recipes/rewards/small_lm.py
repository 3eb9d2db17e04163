"""Small LMs for tool calling: one epoch of supervised fine-tuning on the calls of a domain, and nothing else."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.frozen import frozen
from handaxe.training.demonstrated import demonstrated
from handaxe.training.stages.teach import teach
from handaxe.worlds.bfcl import bfcl

__all__ = ["small_lm"]

TITLE = "Small Language Models for Efficient Agentic Tool Calling: Outperforming Large Models with Targeted Fine-tuning"
NOTE = "64 conversations, so that a run takes minutes on two cores. A larger model is compared with in small_lm_tiny."
RECIPE = Recipe(
    paper=Paper(TITLE, "small LMs", "2512.15943", 132),
    claims=(
        Claim(
            "More calls are right than when the same model is prompted.",
            "pass@1",
            "up",
            vice=0.6,
            learned=False,
            note=NOTE,
        ),
    ),
    base=frozen,
    world=partial(bfcl, category=("simple_python",)),
    setting=Setting(model="smollm2", steps=1, groups=1, max_turns=1, max_tokens=96, held_out=50),
)


def small_lm(base: Method, *, taught: int = 64, rate: float = 2e-4) -> Method:
    """Teach single calls of the function-calling leaderboard; no reinforcement learning.

    Args:
        taught: conversations; those that do not fit into the model's context are left out.
        rate: learning rate.

    Differs: single calls in the place of ToolBench's conversations, and SmolLM2-135M (--lora 16 trains an adapter) in
    that of OPT-350M.
    """
    shown = demonstrated(world=base.world, count=taught, fitting=True)
    lessons = teach(source=shown, batch_size=8, micro_batch_rows=4, learning_rate=rate)
    return replace(base, stages=(*base.stages, lessons))
