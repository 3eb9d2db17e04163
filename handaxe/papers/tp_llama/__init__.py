"""TP-LLaMA (arXiv:2406.07115): DPO on steps of inference trees, success path against failed branches."""

from handaxe.losses.dpo import dpo
from handaxe.methods.method import Method, replace
from handaxe.papers.tp_llama.decision_tree import decision_tree
from handaxe.papers.tp_llama.tree_siblings import Unit, tree_siblings
from handaxe.papers.tp_llama.tree_size import tree_size
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.stages.prefer import prefer
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach

__all__ = ["tp_llama"]


def tp_llama(
    base: Method,
    *,
    unit: Unit = "step",
    epochs: int = 2,
    trees: int = 192,
    measured: int = 64,
    children: int = 3,
    nodes: int = 24,
    beta: float = 0.5,
) -> Method:
    """Fine-tune on success paths of search trees, run DPO on pairs of further trees, and measure trees.

    Args:
        unit: of a pair: a step, or a whole path for comparison.
        epochs: of DPO; 0 for fine-tuning alone. 1 in the paper (from memory), on 8,000 pairs.
        trees: tasks with a tree, for fine-tuning and again for DPO.
        measured: tasks with a tree after training.
        children: of a node.
        nodes: of a tree.
        beta: of DPO; 0.5 in the paper (from memory).
    """
    rollout = decision_tree(
        outcome=base.world.correct, children=children, nodes=nodes, max_turns=base.settings.max_turns
    )
    source = played(groups=trees, group_size=1, arguments={"rollout": rollout})
    after = played(groups=measured, group_size=1, arguments={"rollout": rollout})
    tuning = teach(source=source, select=keep_successes(), learning_rate=3e-4, optional=True)
    preference = prefer(
        source=source,
        pairs=tree_siblings(unit=unit),
        loss=dpo(beta=beta),
        epochs=epochs,
        batch_size=8,
        learning_rate=1e-4,
        optional=True,
    )
    return replace(
        base,
        annotate=(*base.annotate, "ref_logp"),
        closing=(*base.closing, tuning, preference, tree_size(source=after)),
    )
