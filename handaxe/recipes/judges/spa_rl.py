"""SPA-RL: what an attempt comes to is paid out among its turns, by an estimator of progress that learned it before."""

from handaxe.judges.progress import progress
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.turn_ppo import turn_ppo
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted
from handaxe.training.stages.collect import GroupPool, collect
from handaxe.training.stages.fit import fit
from handaxe.worlds.minigrid_text import minigrid_text

__all__ = ["spa_rl"]

TITLE = "SPA-RL: Reinforcing LLM Agents via Stepwise Progress Attribution"
MORE = "More is solved along the run than by outcomes alone."
BEHIND = "The critic begins at 0 and stays far below these returns (loss/value_mean), so that late turns look bad."
RECIPE = Recipe(
    paper=Paper(TITLE, "SPA-RL", "2505.20732", 87),
    claims=(
        Claim(MORE, "pass@1", "up", over="area", by_turn=True, note=BEHIND),
        Claim("More acts can be carried out.", "executed", "up", vice=0.95, note=BEHIND),
    ),
    base=turn_ppo,
    world=minigrid_text,
    setting=Setting(
        model="start", max_turns=12, max_tokens=16, steps=16, groups=8, group_size=6, held_out=100, eval_every=4
    ),
)


def spa_rl(
    base: Method,
    *,
    alpha: float = 1.0,
    beta: float = 0.5,
    collected: int = 40,
    passes: int = 2,
    judge_rate: float = 3e-4,
) -> Method:
    """Collect attempts, teach the estimator what they came to, and train on its shares and on acts carried out.

    The outcome itself is not paid. Unconfirmed: the formula. Differs: no KL against the policy it starts from, which
    learned from the world's expert before; attempts that the estimator learns from come on top of those of the steps.

    Args:
        alpha: weight of a turn's share; 1 in the paper.
        beta: of its act being carried out; 0.5 in the paper. A further turn may so be worth more than the end.
        collected: tasks whose attempts the estimator learns from.
        passes: times that it sees them.
        judge_rate: its learning rate.
    """
    pool, judge = GroupPool(), progress(learning_rate=judge_rate)
    play = collect(into=pool, groups=collected, group_size=base.setting.group_size, arguments={"reward": base.reward})
    parts = {
        "progress": (alpha, judged_steps(judge=judge)),
        "executed": (beta, tool_success(per="turn")),
    }
    stages = (*base.stages, play, fit(learner=judge, source=pool, epochs=passes, batch_size=4))
    return replace(base, stages=stages, reward=weighted(parts))
