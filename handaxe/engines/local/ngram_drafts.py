"""Speculative decoding with n-gram drafts: guess the next tokens of a row from earlier rows with the same n-gram.

Drafts change the number of tokens sampled per forward pass, never the tokens: every token is sampled with a uniform
number fixed by the request's seed and the token's position, so accepted draft tokens equal the tokens of plain
decoding.

Turns of a tool-using policy repeat call syntax, names of tools and arguments, and phrases around an answer. With few
rows, a forward pass over a draft takes little longer than decoding one token.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["NgramDrafts"]


class NgramDrafts:
    """Next token after each n-gram, drafted if the last two occurrences agree.

    Args:
        max_tokens: longest draft, in tokens; 0 disables drafting and learning.
        context: length of the n-gram before a drafted token, >= 1.
        max_contexts: n-grams remembered; the oldest is dropped first.

    Idea: prompt lookup decoding (https://github.com/apoorvumang/prompt-lookup-decoding), over the turns of all rows
    instead of the text of one row, and without a draft where the last two occurrences differ, such as at a random
    number.

    Example:
        drafts = NgramDrafts(4, context=1); drafts.learn([1, 2, 3, 7, 1, 2, 3, 8], 1)
        drafts.draft([5, 1], 9)  ->  [2, 3]
    """

    def __init__(self, max_tokens: int, *, context: int = 3, max_contexts: int = 32768):
        self.max_tokens = max_tokens
        self.context = context
        self.max_contexts = max_contexts
        self._next: dict[tuple[int, ...], tuple[int, bool]] = {}

    def learn(self, ids: Sequence[int], start: int) -> None:
        """Record the n-grams and tokens of `ids` from `start` on."""
        if not self.max_tokens:
            return
        for position in range(max(start, self.context), len(ids)):
            ngram, token = tuple(ids[position - self.context : position]), ids[position]
            known = self._next.get(ngram)
            if known is None and len(self._next) >= self.max_contexts:
                del self._next[next(iter(self._next))]
            self._next[ngram] = token, known is not None and known[0] == token

    def draft(self, ids: Sequence[int], limit: int) -> list[int]:
        """Draft up to `limit` tokens after `ids`; often none."""
        limit = min(limit, self.max_tokens)
        if limit < 1:
            return []
        ngram, out = tuple(ids[-self.context :]), list[int]()
        for _ in range(limit):
            token, repeated = self._next.get(ngram, (0, False))
            if not repeated:
                break
            out.append(token)
            ngram = (*ngram[1:], token)
        return out
