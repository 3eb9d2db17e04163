import pytest

from handaxe.core.errors import InputError

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.worlds.toolbox.labelled_requests import (  # noqa: E402
    function_catalogue,
    labelled_requests,
    sample_entries,
    spread,
)


@pytest.mark.slow
def test_splits_share_no_request_and_every_call_is_accepted():
    both = {split: labelled_requests(split) for split in ("train", "test")}
    ids = [{one.id for one in own} for own in both.values()]
    texts = [{one.text for one in own} for own in both.values()]
    assert not ids[0] & ids[1] and not texts[0] & texts[1] and min(map(len, ids)) > 400
    catalogue = function_catalogue()
    several = [one for one in both["test"] if len(one.needed) > 1]
    assert len(several) > 60
    for one in several[:10]:
        for step in one.steps:
            assert catalogue.call(step["name"], step["arguments"]).content == str(step["value"])
    alone = [one.needed for own in both.values() for one in own if len(one.needed) == 1]
    assert max(map(alone.count, alone)) == 2
    with pytest.raises(InputError, match="train and test"):
        labelled_requests("all")


def test_catalogue_has_one_schema_of_each_function():
    functions = [entry.function for entry in function_catalogue().entries.values()]
    assert len(functions) == len(set(functions)) == 1853


def test_samples_hold_needed_tools_and_are_nested():
    own = labelled_requests("test")[:5]
    small, large = ({entry.name for entry in sample_entries(own, size, 7)} for size in (8, 40))
    assert {name for one in own for name in one.needed} <= small <= large
    among = sample_entries(own, 40, 7)
    assert {entry.name for entry in sample_entries(own, 9, 8, among=among)} <= large
    with pytest.raises(InputError, match="not 2"):
        sample_entries(own, 2, 7)


def test_spread_takes_requests_at_equal_distances():
    assert spread(list(range(7)), 3) == [0, 2, 4] and spread([1, 2], 5) == [1, 2]
    with pytest.raises(InputError, match="1 request"):
        spread([1], 0)
