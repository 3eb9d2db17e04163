import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.tool_gen import decode_tools
from handaxe.papers.tool_gen.decode_tools import SpellingTrie, decode_free, decode_tool, rank_tools

END = 0
MODEL = TinyModel.new(TinyConfig(vocab_size=12, width=8, layers=1, heads=2, max_length=32), seed=9)
SPELLINGS = st.lists(
    st.lists(st.integers(1, 11), min_size=1, max_size=3).map(tuple), min_size=1, max_size=6, unique=True
)


def test_trie_allows_what_a_spelling_may_go_on_with():
    trie = SpellingTrie([(5,), (6, 7)], end=END)
    assert trie.allowed([]) == {5, 6} and trie.allowed([6]) == {7}
    assert trie.allowed([5]) == trie.allowed([6, 7]) == {END}
    assert trie.allowed([9]) == trie.allowed([5, END]) == set()


@pytest.mark.parametrize("spellings", [[(5,), (5,)], [(5, END)], [()]])
def test_bad_spellings_raise(spellings):
    with pytest.raises(InputError, match="spelling"):
        SpellingTrie(spellings, end=END)


@given(SPELLINGS, st.lists(st.integers(1, 11), min_size=1, max_size=5))
def test_decoded_spelling_is_always_a_tool_and_the_greedy_one(spellings, ids):
    found = decode_tool(MODEL, ids, SpellingTrie(spellings, end=END), end=END)
    assert found in spellings
    slow, open_spellings = [], [(*own, END) for own in spellings]
    while True:
        logits = MODEL.module.head(MODEL.module.hidden(torch.tensor([[*ids, *slow]])))[0, -1].detach()
        choices = sorted({own[len(slow)] for own in open_spellings})
        best = max(choices, key=lambda one: (float(logits[one]), -one))
        if best == END:
            break
        open_spellings = [own for own in open_spellings if own[len(slow)] == best]
        slow.append(best)
    assert found == tuple(slow)


def test_constrained_choice_and_ranking_equal_the_worked_example(monkeypatch):
    monkeypatch.setattr(decode_tools, "_logits", lambda model, ids: torch.tensor([0.0, 9.0, 2.0, 1.0]))
    trie = SpellingTrie([(2,), (3,)], end=END)
    assert decode_tool(None, [1], trie, end=END) == (2,)
    assert rank_tools(None, [1], {"b": 3, "a": 2}) == ["a", "b"]
    assert decode_free(None, [1], end=END, most=3) == (1, 1, 1)
    assert torch.softmax(torch.tensor([2.0, 1.0]), 0).tolist() == pytest.approx([0.731, 0.269], abs=1e-3)


def test_free_decoding_stops_at_the_end(monkeypatch):
    rows = iter([[0.0, 5.0], [5.0, 0.0]])
    monkeypatch.setattr(decode_tools, "_logits", lambda model, ids: torch.tensor(next(rows)))
    assert decode_free(None, [1], end=END, most=9) == (1,)
