"""Drafts: ids, notes, JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.synthesis.draft import SynthesisDraft, digest_of, make_draft

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_equal_content_has_one_id_in_any_order_of_keys(payload):
    turned = dict(reversed(payload.items()))
    assert make_draft("a", payload).id == make_draft("a", turned).id != make_draft("b", payload).id
    assert make_draft("a", payload, parents=("p",)).id != make_draft("a", payload).id


def test_notes_do_not_change_the_id():
    draft = make_draft("a", {"x": 1})
    noted = draft.noted({"rate": 0.5}).noted({"policy": "tiny"})
    assert noted.id == draft.id and noted.notes == {"rate": 0.5, "policy": "tiny"}
    assert SynthesisDraft.from_json(noted.as_json()) == noted


@pytest.mark.parametrize("value", [{"x": object()}, {"x": float("nan")}, {"x": {1, 2}}])
def test_a_draft_is_json(value):
    with pytest.raises(InputError, match="JSON cannot store"):
        make_draft("a", value)


def test_a_digest_tells_boundaries_apart():
    assert digest_of("a", "b") != digest_of("ab") and len(digest_of()) == 32
