"""ReST-MCTS* (arXiv:2406.03816): value-guided tree search finds traces and value targets for both models, in rounds."""

from handaxe import selection
from handaxe.core.records import Sampling
from handaxe.methods.method import Method, replace
from handaxe.papers.rest_mcts.mcts_star import TEMPERATURE, Search, search_strategy, value_model
from handaxe.papers.rest_mcts.tree_pool import TreePool, search_trees, with_targets
from handaxe.training.stages.fit import fit
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach

__all__ = ["rest_mcts"]


def rest_mcts(
    base: Method,
    *,
    search: Search = "tree",
    rounds: int = 2,
    trees: int = 32,
    tokens: int = 200,
    traces: int = 2,
    teach_rate: float = 3e-4,
) -> Method:
    """Fit a value model, then alternate: search with the policy and the value model, and train both on the trees.

        first:      rollouts --tree_values--> value model
        each round: search --tree_values--> value model;  correct traces with the highest values --> policy

    Args:
        search: "tree", MCTS*, or "samples", independent rollouts with the same number of tokens, as ReST-EM.
        rounds: of self-training; 0 for the start alone.
        trees: tasks of a round.
        tokens: sampled tokens of a search.
        traces: most distinct traces of a task that train the policy.
        teach_rate: learning rate of the policy.
    """
    run = base.settings
    sampling = Sampling(temperature=TEMPERATURE, max_tokens=run.max_tokens)
    value = value_model()
    strategy = search_strategy(search, judge=value, tokens=tokens, max_turns=run.max_turns)
    pool = TreePool(value)
    given = {"reward": base.reward, "sampling": sampling}
    source = played(groups=trees, group_size=1, arguments={**given, "rollout": strategy})
    chosen = selection.keep_successes(above=0.0, most=traces, best=True)
    loop = repeat(
        stages=[
            search_trees(into=pool, source=source),
            fit(judge=value, source=pool.targets),
            teach(source=pool.traces, select=chosen, epochs=2, learning_rate=teach_rate, optional=True),
        ],
        times=rounds,
    )
    sampled = played(groups=trees, group_size=run.group_size, arguments=given)
    first = fit(judge=value, source=with_targets(sampled))
    return replace(base, stages=(*base.stages, first, loop), learners=(*base.learners, value))
