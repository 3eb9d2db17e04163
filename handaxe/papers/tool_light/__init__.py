"""Tool-Light (arXiv:2509.23285): DPO on pairs of entropy-guided samples that call tools too rarely or too often."""

from handaxe.curricula import task_pool
from handaxe.losses.dpo import dpo
from handaxe.methods.method import Method, replace
from handaxe.papers.tool_light.entropy_tree import entropy_tree
from handaxe.papers.tool_light.pair_criteria import Criteria, pair_criteria
from handaxe.papers.tool_light.with_demonstrations import with_demonstrations
from handaxe.training import stages
from handaxe.training.stages.parts.choose_by_label import choose_by_label
from handaxe.training.stages.prefer import prefer
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.sources import joined, played

__all__ = ["tool_light"]

POOL = 256
SIZES = (2, 4, 6, 8, 10)


def tool_light(
    base: Method,
    *,
    criteria: Criteria = "paper",
    loops: int = 2,
    questions: int = 48,
    loop_questions: int = 128,
    independent: int = 10,
    points: int = 3,
    beta: float = 0.1,
) -> Method:
    """Filter questions, sample chains, and run DPO: a pre-aligned stage, then loops on chains of the newest policy.

    The filter leaves out those of 256 questions that the policy answers correctly in the first turn.

    Args:
        criteria: of pairs: the paper's, or a random correct and a random incorrect chain for comparison.
        loops: of the self-evolved stage, each with the policy and the reference of the loop before; 2 in the paper.
        questions: of the pre-aligned stage, for each kind of sampling.
        loop_questions: of a loop.
        independent: independent chains of a question; 10 in the paper.
        points: steps of a main chain with three branches each; 3 in the paper.
        beta: of DPO; 0.1 in the paper.
    """
    world, turns = base.world, base.settings.max_turns
    probe = stages.probe(label="known", samples=1, groups=64, arguments={"rollout": world.make_rollout(1)})
    unknown = stages.choose(tasks=choose_by_label(label="known", below=0.5, least=16), label="known")
    guided = {"rollout": entropy_tree(points=points, sizes=SIZES, max_turns=turns)}
    tree = played(groups=questions, group_size=1, arguments=guided)
    newest = played(groups=loop_questions, group_size=1, arguments=guided)
    both = joined(sources=[tree, played(groups=questions, group_size=independent)])
    shown = with_demonstrations(both, expert=world.need("expert"), rollout=world.make_rollout(turns))
    first = prefer(source=shown, pairs=pair_criteria(criteria).first, loss=dpo(beta=beta), epochs=3, optional=True)
    loop = prefer(source=newest, pairs=pair_criteria(criteria).loop, loss=dpo(beta=beta), epochs=3, optional=True)
    return replace(
        base,
        tasks=lambda tasks, seed: task_pool(tasks[:POOL], seed=seed),
        annotate=(*base.annotate, "ref_logp"),
        stages=(*base.stages, probe, unknown, first, repeat(stages=[loop], times=loops)),
    )
