import numpy as np
import pytest
import torch

from handaxe.engines.cluster.shard_rows import cut_rows, lay_down, rank_rows, shard_rows


def test_runs_of_about_equal_length(batch_of):
    batch = batch_of([[1, 1, 1, 1], [2, 2], [3, 3], [4, 4, 4, 4], [5, 5, 5, 5]])
    assert [rows.tolist() for rows in shard_rows(batch, 2)] == [[0, 1, 2], [3, 4]]
    assert [rows.tolist() for rows in shard_rows(batch, 1)] == [[0, 1, 2, 3, 4]]


def test_what_siblings_share_counts_once_where_it_is_read_once(batch_of):
    batch = batch_of([[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 7], [1, 2, 3, 4, 5, 8], [9] * 8])
    assert [rows.tolist() for rows in shard_rows(batch, 2)] == [[0, 1], [2, 3]]
    assert [rows.tolist() for rows in shard_rows(batch, 2, trees=True)] == [[0, 1, 2], [3]]


@pytest.mark.parametrize("seed", range(4))
def test_as_trees_ranks_read_about_equally_many_tokens(batch_of, seed):
    """No rank reads more than its part of all distinct prefixes, but for one row and what that row begins with."""
    draws = np.random.default_rng(seed)
    rows = [[k, *draws.integers(0, 2, draws.integers(0, 9))] for k in draws.integers(0, 3, 17)]
    tree = lambda index: {tuple(rows[i][: n + 1]) for i in index for n in range(len(rows[i]))}  # noqa: E731
    dealt = [tree(index.tolist()) for index in shard_rows(batch_of(rows), 3, trees=True)]
    assert max(map(len, dealt)) <= len(tree(range(17))) / 3 + 2 * max(map(len, rows))


def test_what_begins_alike_stays_together(batch_of):
    batch = batch_of([[5, 6, 7], [1, 2, 3], [5, 6, 8], [1, 2, 4]])
    assert [sorted(rows.tolist()) for rows in shard_rows(batch, 2)] == [[1, 3], [0, 2]]


def test_each_row_goes_to_one_rank_and_some_ranks_get_none(batch_of):
    for rows, ranks in ((1, 3), (2, 3), (7, 3), (4, 4)):
        dealt = shard_rows(batch_of([[k, k + 1] for k in range(rows)]), ranks)
        assert len(dealt) == ranks and sorted(torch.cat(dealt).tolist()) == list(range(rows))
    nothing = batch_of([[1, 2]]).rows(torch.tensor([], dtype=torch.int64))
    for trees in (False, True):
        assert [len(rows) for rows in shard_rows(nothing, 2, trees=trees)] == [0, 0]
    assert [rows.tolist() for rows in shard_rows(batch_of([[1, 2]]), 2, trees=True)] == [[], [0]]


def test_what_is_dealt_is_laid_down_where_it_was(batch_of):
    batch = batch_of([[1, 2, 3], [4, 5], [6, 7, 8]])
    want_BT = torch.arange(9.0).reshape(3, 3)
    got = {"logp": torch.full((3, 3), -1.0)}
    for index in (torch.tensor([2, 0]), torch.tensor([1]), torch.tensor([], dtype=torch.int64)):
        rows = rank_rows(batch, index)
        said_BT = cut_rows(want_BT, index, rows)
        if rows is None:
            assert said_BT.tolist() == [[0.0]]
        else:
            assert torch.equal(rows.ids_BT, batch.ids_BT[index, : rows.ids_BT.shape[1]])
        lay_down(got, {"logp": said_BT}, index)
    mask_BT = batch.attend_BT
    assert torch.equal(got["logp"][mask_BT], want_BT[mask_BT])
