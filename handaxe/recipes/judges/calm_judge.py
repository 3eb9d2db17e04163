"""CALM's judge: was this sub-goal just reached? asked of SmolLM2 about acts in a grid; nothing is trained."""

from handaxe.engines.local import LocalEngine
from handaxe.evaluation.transition_f1 import transition_f1
from handaxe.judges.taught_verdict import in_its_place
from handaxe.judges.verdict_token import about_turn, just_now, verdict_token
from handaxe.methods.study import Bound, Measured, Paper, Study
from handaxe.models.load import load
from handaxe.ops.reached import reaches_of
from handaxe.training.cold_start import demonstrations
from handaxe.worlds.minigrid_text import minigrid_text
from handaxe.worlds.world import Habit

__all__ = ["calm_judge"]

TITLE = "Assessing the Zero-Shot Capabilities of LLMs for Action Evaluation in RL"
STUDY = Study(
    paper=Paper(TITLE, "CALM's judge", "2409.12798", 128),
    bounds=(
        Bound("Untaught, it tells better than the best constant answer.", "difference", least=0.01),
        Bound("And better with what was seen before the act.", "seen_before", least=0.01),
    ),
)
ASKED = {"": in_its_place, "/alone": about_turn}
CONTEXT = 2048


def calm_judge(*, attempts: int = 8, threshold: float = 0.5) -> Measured:
    """Compare the answers with the rule of the world, over every act and every sub-goal. Unconfirmed: the question.

    Args:
        attempts: conversations of an expert, a quarter of whose acts is drawn.
        threshold: chance of yes above which the answer is yes.
    """
    world, policy = minigrid_text(size=6, brief=False), load("smollm2")
    judge = verdict_token(engine=LocalEngine(policy.model), format=policy.format)

    def measure(seed: int) -> dict[str, float]:
        tasks = world.tasks("test", attempts, seed)
        env, form = world.env(world.tools), policy.format
        played = demonstrations(
            world, env, tasks, habit=Habit(), count=attempts, seed=seed, format=form, context=CONTEXT
        )
        pairs = reaches_of(played, criteria=world.need("criteria"), check=world.need("check"))
        found = dict[str, float]()
        for arm, ask in ASKED.items():
            figures = transition_f1(pairs, ask=just_now(ask), chances=judge.chances, threshold=threshold)
            found |= {f"{name}{arm}": value for name, value in figures.items()}
        return found | {"seen_before": found["f1"] - found["f1/alone"]}

    return measure
