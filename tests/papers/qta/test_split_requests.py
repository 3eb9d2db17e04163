import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.ops.ranking import sufficiency_at
from handaxe.papers.qta.split_requests import split_requests
from handaxe.papers.qta.tool_index import tool_index


def test_splits_share_no_request():
    train, test = (split_requests(split) for split in ("train", "test"))
    assert len(train) > 40 and len(test) >= 90
    assert not {one.text for one in train} & {one.text for one in test}
    assert not {one.first for one in train} & {one.first for one in test}  # what the brief form shows


def test_requests_hold_the_raw_ranking():
    known = tool_index()
    for one in split_requests("test")[:20]:
        ranking = known.rank(one.text)
        assert one.first == ranking[:2] and one.raw == sufficiency_at(ranking, one.needed, 5)
        assert 2 <= len(one.needed) <= 3 and set(one.needed) <= set(known.groups)
