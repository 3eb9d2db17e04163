import pytest

from handaxe.tools.building_blocks import GRID_BLOCKS, LIST_BLOCKS, TEXT_BLOCKS
from handaxe.tools.draft_runner import run_draft

EXAMPLES = {
    "drop": ([1, 2, 3], 1, [2, 3]), "take": ([1, 2, 3], 1, [1]), "drop_end": ([1, 2, 3], 1, [1, 2]),
    "take_end": ([1, 2, 3], 1, [3]), "zeros": (2, [0, 0]), "nonzero": ([0, 1], [1]), "zero": ([0, 1], [0]),
    "recolor": ([0, 3], 5, [0, 5]), "plus": ([1, 2], [3, 4, 5], [4, 6]), "keep_where": ([7, 8], [0, 1], [8]),
    "is_even": ([1, 2], [0, 1]), "is_below": ([1, 2], 2, [1, 0]), "count": ([5, 5, 1], 5, 2),
    "common_divisor": ([12, 18], 6), "common_multiple": ([4, 6], 12), "divide_all": ([4, 7], 2, [2, 3]),
    "one_bits": (5, 2), "bits": (5, "101"), "spell": ([1, 2], ["1", "2"]), "join_slashes": (["1", "2"], "1/2"),
    "occurrences": ("banana", "an", 2), "is_equal": (2, 2, 1), "remainder": (7, 3, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_blocks_compute_their_examples(name):
    *given, expected = EXAMPLES[name]
    block = next(one for one in (*GRID_BLOCKS, *LIST_BLOCKS, *TEXT_BLOCKS) if one.name == name)
    assert block.run(*given) == expected and len(block.inputs) == len(given)


def test_blocks_run_in_the_sandbox():
    """The source of a block, behind a function without arguments, gives the value of its trusted twin."""
    for block in {one.name: one for one in (*GRID_BLOCKS, *LIST_BLOCKS, *TEXT_BLOCKS)}.values():
        if block.name in EXAMPLES:
            *given, expected = EXAMPLES[block.name]
            source = f"import math\n{block.source}\ndef f(given): return {block.name}(*given)"
            assert run_draft(source, "f", [{"given": given}])[0].value == expected, block.name
