import numpy as np
import pytest
import torch

from handaxe.engines.cluster.shard_rows import scatter_rows, select_rows, shard_rows, slice_rows


def test_shards_have_similar_token_counts(batch_from_rows):
    batch = batch_from_rows([[1, 1, 1, 1], [2, 2], [3, 3], [4, 4, 4, 4], [5, 5, 5, 5]])
    assert [rows.tolist() for rows in shard_rows(batch, 2)] == [[0, 1, 2], [3, 4]]
    assert [rows.tolist() for rows in shard_rows(batch, 1)] == [[0, 1, 2, 3, 4]]


def test_shared_prefix_counts_once_as_trees(batch_from_rows):
    batch = batch_from_rows([[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 7], [1, 2, 3, 4, 5, 8], [9] * 8])
    assert [rows.tolist() for rows in shard_rows(batch, 2)] == [[0, 1], [2, 3]]
    assert [rows.tolist() for rows in shard_rows(batch, 2, trees=True)] == [[0, 1, 2], [3]]


@pytest.mark.parametrize("seed", range(4))
def test_shards_as_trees_have_similar_distinct_token_counts(batch_from_rows, seed):
    """A rank's distinct prefixes exceed its share of all by at most two rows."""
    draws = np.random.default_rng(seed)
    rows = [[k, *draws.integers(0, 2, draws.integers(0, 9))] for k in draws.integers(0, 3, 17)]
    tree = lambda index: {tuple(rows[i][: n + 1]) for i in index for n in range(len(rows[i]))}  # noqa: E731
    shards = [tree(index.tolist()) for index in shard_rows(batch_from_rows(rows), 3, trees=True)]
    assert max(map(len, shards)) <= len(tree(range(17))) / 3 + 2 * max(map(len, rows))


def test_rows_with_a_common_prefix_stay_together(batch_from_rows):
    batch = batch_from_rows([[5, 6, 7], [1, 2, 3], [5, 6, 8], [1, 2, 4]])
    assert [sorted(rows.tolist()) for rows in shard_rows(batch, 2)] == [[1, 3], [0, 2]]


def test_each_row_goes_to_one_rank_and_some_ranks_get_none(batch_from_rows):
    for rows, ranks in ((1, 3), (2, 3), (7, 3), (4, 4)):
        shards = shard_rows(batch_from_rows([[k, k + 1] for k in range(rows)]), ranks)
        assert len(shards) == ranks and sorted(torch.cat(shards).tolist()) == list(range(rows))
    empty = batch_from_rows([[1, 2]]).rows(torch.tensor([], dtype=torch.int64))
    for trees in (False, True):
        assert [len(rows) for rows in shard_rows(empty, 2, trees=trees)] == [0, 0]
    assert [rows.tolist() for rows in shard_rows(batch_from_rows([[1, 2]]), 2, trees=True)] == [[], [0]]


def test_sliced_rows_scatter_back_to_their_places(batch_from_rows):
    batch = batch_from_rows([[1, 2, 3], [4, 5], [6, 7, 8]])
    want_BT = torch.arange(9.0).reshape(3, 3)
    got = {"logp": torch.full((3, 3), -1.0)}
    for index in (torch.tensor([2, 0]), torch.tensor([1]), torch.tensor([], dtype=torch.int64)):
        rows = select_rows(batch, index)
        part_BT = slice_rows(want_BT, index, rows)
        if rows is None:
            assert part_BT.tolist() == [[0.0]]
        else:
            assert torch.equal(rows.ids_BT, batch.ids_BT[index, : rows.ids_BT.shape[1]])
        scatter_rows(got, {"logp": part_BT}, index)
    mask_BT = batch.attend_BT
    assert torch.equal(got["logp"][mask_BT], want_BT[mask_BT])
