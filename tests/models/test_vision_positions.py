import numpy as np
import pytest
from helpers.image_records import noise

from handaxe.core.images import image_key, is_image_id, token_number
from handaxe.models.vision_positions import grid_positions, image_blocks, next_positions
from handaxe.ops.token_trees import build_forest

A, B = noise(0), noise(1)
GRIDS = {A.key: np.array([1, 2, 3]), B.key: np.array([2, 1, 2])}


def row(*parts):
    return np.array([token for part in parts for token in (part if isinstance(part, list) else [part])], np.int64)


def of_row(ids):
    depth, last = np.arange(len(ids)), np.full(len(ids), len(ids) - 1)
    return grid_positions(ids, depth, last, GRIDS.get), next_positions(ids, depth, last, GRIDS.get)


def slow(ids):
    """Positions by a loop over one row."""
    out = []
    now = 0
    start = 0
    for token in ids.tolist():
        if not is_image_id(token):
            out.append((now, now, now))
            now += 1
            continue
        grid, number = GRIDS[image_key(token)], token_number(token)
        if number == 0:
            start = now
        frame, rest = divmod(number, int(grid[1] * grid[2]))
        out.append((start + frame, start + rest // int(grid[2]), start + rest % int(grid[2])))
        now = start + int(grid.max())
    return np.array(out).T, now


def test_worked_example():
    found, following = of_row(row(5, 6, A.ids(6), 7))
    assert found.tolist() == [[0, 1, 2, 2, 2, 2, 2, 2, 5], [0, 1, 2, 2, 2, 3, 3, 3, 5], [0, 1, 2, 3, 4, 2, 3, 4, 5]]
    assert following[[0, 1, 7, 8]].tolist() == [1, 2, 5, 6]


ROWS = [
    row(A.ids(6), A.ids(6), B.ids(4), 1),
    row(1, 2, 3),
    row(1, B.ids(4), 2, A.ids(6), 3, 4),
    row(1, B.ids(4), 2, A.ids(6)),
    row(1, B.ids(4), 2, B.ids(4), 9),
    row(1, B.ids(4), 3),
]


@pytest.mark.parametrize("ids", ROWS)
def test_rows_equal_a_loop(ids):
    want, end = slow(ids)
    found, following = of_row(ids)
    assert (found == want).all() and following[-1] == end


def test_nodes_of_trees_have_the_positions_of_their_rows():
    trees = build_forest(ROWS)
    found = grid_positions(trees.ids_N, trees.depth_N, trees.last_N, GRIDS.get)
    for ids, node_T in zip(ROWS, trees.node_BT):
        assert (found[:, node_T[: len(ids)]] == slow(ids)[0]).all()


def test_neighbouring_images_and_repeated_images_are_blocks_of_their_own():
    ids = row(1, A.ids(3), A.ids(3), B.ids(2), 4)
    features = np.array([0, 0, 1, 1, 0, 1, 1, 1, 1, 0], bool)
    assert image_blocks(ids, features).tolist() == [-1, -1, 0, 0, -1, 1, 1, 2, 2, -1]
