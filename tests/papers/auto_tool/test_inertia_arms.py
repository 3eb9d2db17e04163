from helpers.embed_words import embed_words

from handaxe.core.records import ToolSchema
from handaxe.papers.auto_tool.inertia_arms import make_arms, tool_similarity
from handaxe.papers.auto_tool.inertial_calls import ANSWER


def test_similarity_reads_name_and_description():
    similarity = tool_similarity(
        [ToolSchema("cancel", "cancel an order", {}), ToolSchema("look", "see", {})], embed_words
    )
    assert similarity("cancel an order", "cancel") > similarity("cancel an order", "look")
    assert similarity("x", "unknown") == 0 and -1 <= similarity("x", ANSWER) <= 1


def test_arms_differ_in_one_part_each():
    made = {name: arm and arm([]) for name, arm in make_arms(embed_words).items()}
    assert made["policy"] is None and made["auto_tool"].share == 0.3 and made["auto_tool"].threshold == 0.1
    assert made["frequency"].tools.alpha == 0 and made["auto_tool"].tools.alpha == 0.5
    assert made["unlimited"].share == 1 and made["unlimited"].in_a_row and made["auto_tool"].tools.k == 2
