import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.ops.token_trees import build_forest, make_pack

ROWS = st.lists(st.lists(st.integers(0, 2), max_size=7), max_size=8)


def arrays(rows):
    return [np.array(row, np.int64) for row in rows]


def test_forest_equals_the_example():
    trees = build_forest(arrays([[5, 6, 7], [5, 6, 8, 9], [5, 6]]))
    assert trees.ids_N.tolist() == [5, 6, 7, 8, 9]
    assert trees.depth_N.tolist() == [0, 1, 2, 2, 3] and trees.last_N.tolist() == [4, 4, 2, 4, 4]
    assert trees.before_N.tolist() == [-1, 5, 6, 6, 8]
    assert trees.node_BT.tolist() == [[0, 1, 2, -1], [0, 1, 3, 4], [0, 1, -1, -1]]
    assert trees.roots_R.tolist() == [0] and trees.stops_R.tolist() == [5]


@settings(max_examples=200, deadline=None)
@given(ROWS)
def test_each_distinct_prefix_is_one_node(rows):
    trees = build_forest(arrays(rows))
    prefixes = {tuple(row[: t + 1]) for row in rows for t in range(len(row))}
    assert len(trees.ids_N) == len(prefixes)
    spelt = {}
    for row, node_T in zip(rows, trees.node_BT):
        assert (node_T[len(row) :] == -1).all()
        for t, node in enumerate(node_T[: len(row)]):
            spelt.setdefault(int(node), set()).add(tuple(row[: t + 1]))
    assert all(len(found) == 1 for found in spelt.values()) and len(spelt) == len(prefixes)
    for node, (prefix,) in ((node, tuple(found)) for node, found in spelt.items()):
        assert trees.ids_N[node] == prefix[-1] and trees.depth_N[node] == len(prefix) - 1
        assert trees.before_N[node] == (prefix[-2] if len(prefix) > 1 else -1)
    names = [next(iter(spelt[node])) for node in range(len(spelt))]
    assert sorted(names) == names, "depth first"


@settings(max_examples=200, deadline=None)
@given(ROWS, st.randoms())
def test_pack_mask_is_ancestors_and_self(rows, random):
    trees = build_forest(arrays(rows))
    chosen = random.sample(range(len(trees.roots_R)), random.randint(0, len(trees.roots_R)))
    if not chosen:
        return
    pack = make_pack(trees, chosen, torch.device("cpu"))
    prefixes = sorted({tuple(row[: t + 1]) for row in rows for t in range(len(row))})
    kept = [p for tree in chosen for p in prefixes[trees.roots_R[tree] : trees.stops_R[tree]]]
    assert len(pack) == len(kept)
    assert pack.ids_N.tolist() == [p[-1] for p in kept] and pack.depth_N.tolist() == [len(p) - 1 for p in kept]
    assert pack.attend_NN.tolist() == [[n[: len(a)] == a for a in kept] for n in kept]


def test_large_ids_sort_numerically_and_no_rows_give_no_tree():
    trees = build_forest(arrays([[300, 1], [2, 70000], [2, 255]]))
    assert trees.ids_N.tolist() == [2, 255, 70000, 300, 1] and trees.roots_R.tolist() == [0, 3]
    assert build_forest([]).node_BT.shape == (0, 0) and build_forest(arrays([[], []])).node_BT.shape == (2, 0)
