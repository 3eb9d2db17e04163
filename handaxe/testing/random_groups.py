"""Random ragged groups for contract tests: siblings with unequal turns, tokens and sequences."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.records import Group, Scores
from handaxe.ops.seeds import generator
from handaxe.testing.make_records import make_group, make_trajectory

__all__ = ["random_group", "random_scores"]


def random_group(seed: int, *, size: int | None = None, features: Sequence[str] = (), off_mask: float = 0.0) -> Group:
    """Draw a ragged group: 1 to 5 siblings of 1 to 4 turns in 1 to 3 sequences, turns of 1 to 4 tokens.

    Features named in `features` are uniform: in (-3, 0) if the name ends in logp, in (0, 1) otherwise.
    """
    rng = generator("testing.random_group", seed)
    members = []
    for _ in range(size if size is not None else int(rng.integers(1, 6))):
        turns = ["p" * int(rng.integers(1, 5)) for _ in range(int(rng.integers(1, 5)))]
        layouts: list[str] = []
        row = "U" * int(rng.integers(1, 3)) + "t"
        for k, turn in enumerate(turns):
            row += turn
            if k + 1 < len(turns) and len(layouts) < 2 and rng.random() < 0.3:
                layouts, row = [*layouts, row], "Utt"
            elif k + 1 < len(turns):
                row += "t" + "T" * int(rng.integers(0, 3)) + "t"
        layouts.append(row)
        count = sum(map(len, turns))
        made = {name: (rng.uniform(-3, 0, count) if name.endswith("logp") else rng.random(count)) for name in features}
        logp = rng.uniform(-3, 0, count)
        members.append(make_trajectory(layouts=layouts, logp=logp, features=made, off_mask=off_mask))
    return make_group(trajectories=members)


def random_scores(group: Group, seed: int, *, ties: bool = False) -> Scores:
    """Draw scores for a group: normal outcomes, normal per-turn rewards, two in three siblings eligible.

    With `ties` the scores are typical of rewards: outcomes of 0 and 1 in equal numbers, no per-turn reward. From three
    siblings on some outcomes are equal.
    """
    rng = generator("testing.random_scores", seed)
    turns = tuple(rng.normal(size=len(trajectory.turns)) for trajectory in group)
    eligible = rng.random(len(group)) < 2 / 3
    if ties:
        nothing = tuple(np.zeros_like(own) for own in turns)
        return Scores((rng.permutation(len(group)) % 2).astype(np.float64), nothing, eligible=eligible)
    return Scores(rng.normal(size=len(group)), turns, eligible=eligible)
