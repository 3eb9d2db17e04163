import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.ops.ranking import sufficiency_at
from handaxe.papers.qta.split_requests import split_requests
from handaxe.papers.qta.tool_index import tool_index


def test_splits_share_no_request():
    train, test = ({one.text for one in split_requests(split)} for split in ("train", "test"))
    assert not train & test and len(train) > 60 and len(test) >= 90


def test_requests_hold_the_raw_ranking():
    known = tool_index()
    for one in split_requests("test")[:20]:
        ranking = known.rank(one.text)
        assert one.first == ranking[:2] and one.raw == sufficiency_at(ranking, one.needed, 5)
        assert 2 <= len(one.needed) <= 3 and set(one.needed) <= set(known.groups)
