"""Constrained decoding of tools: a trie of their spellings, and rankings by the logits of their tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch

from handaxe.core.errors import InputError
from handaxe.models.tiny import TinyModel

__all__ = ["SpellingTrie", "decode_free", "decode_tool", "rank_tools"]


class SpellingTrie:
    """Trie of spellings, each ended by the same id.

    Args:
        spellings: distinct sequences of ids, none of them with `end`.
        end: id after a spelling.

    Raises:
        InputError: equal spellings, or the id `end` in one.

    Example:
        SpellingTrie([(5,), (6, 7)], end=0).allowed([6]) is {7}; allowed([6, 7]) and allowed([5]) are {0}
    """

    def __init__(self, spellings: Iterable[Sequence[int]], *, end: int):
        self._next: dict[tuple[int, ...], set[int]] = {}
        known: set[tuple[int, ...]] = set()
        for own in map(tuple, spellings):
            if own in known or end in own or not own:
                raise InputError(f"the spelling {own} is empty, occurs twice or holds the id {end} of the end")
            known.add(own)
            for place, following in enumerate((*own, end)):
                self._next.setdefault(own[:place], set()).add(following)

    def allowed(self, prefix: Sequence[int]) -> set[int]:
        """Ids that may follow a prefix; empty for a prefix of no spelling, and after the end."""
        return set(self._next.get(tuple(prefix), ()))


def decode_tool(model: TinyModel, ids: Sequence[int], trie: SpellingTrie, *, end: int) -> tuple[int, ...]:
    """Decode a spelling greedily, among the ids that the trie allows.

        i_t = argmax over i in allowed(i_<t) of logit(i | ids, i_<t), until the end

    Args:
        model: of the logits.
        ids: before the turn.
        trie: of all tools.
        end: id after a spelling.

    Returns:
        Always the spelling of a tool.

    Example:
        logits 9, 2, 1 of a word, tool a and tool b  ->  a; softmax over a and b is 0.731 and 0.269

    Paper: arXiv:2410.03439 (ToolGen), constrained beam search.
    Differs: greedy, a beam of 1.
    """
    spelled: list[int] = []
    while True:
        choices = sorted(trie.allowed(spelled))
        chosen = choices[0]
        if len(choices) > 1:
            logits_V = _logits(model, [*ids, *spelled])
            chosen = choices[int(torch.argmax(logits_V[choices]))]
        if chosen == end:
            return tuple(spelled)
        spelled.append(chosen)


def decode_free(model: TinyModel, ids: Sequence[int], *, end: int, most: int) -> tuple[int, ...]:
    """Decode greedily among all ids, at most `most` ids, without the end.

    Returns:
        Ids that need not be the spelling of a tool.
    """
    spelled: list[int] = []
    while len(spelled) < most:
        chosen = int(torch.argmax(_logits(model, [*ids, *spelled])))
        if chosen == end:
            break
        spelled.append(chosen)
    return tuple(spelled)


def rank_tools(model: TinyModel, ids: Sequence[int], tokens: Mapping[str, int]) -> list[str]:
    """Rank tools by the logits of their tokens at the next place; ties by name.

    Args:
        model: of the logits.
        ids: before the turn.
        tokens: tool -> id.

    Paper: arXiv:2410.03439 (ToolGen), retrieval by the probability of tool tokens.
    Differs: nothing.
    """
    logits_V = _logits(model, ids)
    return sorted(tokens, key=lambda name: (-float(logits_V[tokens[name]]), name))


@torch.no_grad()
def _logits(model: TinyModel, ids: Sequence[int]) -> torch.Tensor:
    row_1T = torch.from_numpy(np.asarray(ids, dtype=np.int64))[None]
    return model.module.head(model.module.hidden(row_1T)[0, -1])
