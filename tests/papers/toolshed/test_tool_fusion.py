from functools import partial

import pytest
from helpers.count_words import count_words

from handaxe.papers.toolshed.tool_fusion import FusionSteps, ToolFusion
from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors
from handaxe.worlds.toolbox.plan_queries import plan_queries
from handaxe.worlds.toolbox.tool_documents import ToolDocument

pytest.importorskip("bm25s")

TEXTS = {
    "find hotel": "Find hotels in a city.",
    "find flight": "Find flights to a city.",
    "find restaurant": "Find restaurants in a city.",
    "book taxi": "Book a taxi.",
    "convert money": "Convert currencies.",
}
REQUEST = "Find hotels in the city of Rome and find flights to the city, then book a taxi."
PLAN = partial(plan_queries, verbs={"find", "book", "convert"})


@pytest.fixture
def index():
    made = LiveIndex(TextVectors(count_words))
    made.put([ToolDocument(name, name, text, "") for name, text in TEXTS.items()])
    return made


def test_every_part_of_a_request_has_its_tool_among_few(index):
    needed = {"find hotel", "find flight", "book taxi"}
    assert set(ToolFusion(index, PLAN).retrieve(REQUEST, 3)) == needed
    assert not needed <= set(index.rank("Find restaurants, hotels, or restaurants in a city", 3))


@pytest.mark.parametrize("left_out", FusionSteps._fields)
def test_single_steps_can_be_left_out(index, left_out):
    fusion = ToolFusion(index, PLAN, steps=FusionSteps()._replace(**{left_out: False}))
    assert fusion.retrieve("Book a taxi", 2)[0] == "book taxi"


def test_empty_requests_find_nothing(index):
    assert ToolFusion(index, PLAN).retrieve(" ", 3) == []
