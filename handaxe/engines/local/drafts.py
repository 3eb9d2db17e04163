"""Draft how a row goes on, from how rows went on before after the same few tokens. Drafts are checked, never trusted:
they decide how many tokens one forward brings, not which.

The turns of a tool-using policy repeat each other: the syntax of a call, the names of tools and arguments, the words
around an answer. With few rows at a time, reading a draft of several tokens takes little longer than decoding one; and
since every token is drawn with a uniform number of its own, what is drawn after a right draft is what decoding would
have drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Drafts"]


class Drafts:
    """What followed the same few tokens last, where it did so twice in a row.

    Args:
        most: longest draft, in tokens; 0 drafts nothing and learns nothing.
        context: tokens that a draft goes by, >= 1.
        kept: contexts that are remembered; the one that came first is forgotten first.

    Idea: prompt lookup decoding (https://github.com/apoorvumang/prompt-lookup-decoding), by the turns of all rows
    instead of one row's text, and silent where the last two times differ, such as at a number drawn at random.

    Example:
        drafts = Drafts(4, context=1); drafts.learn([1, 2, 3, 7, 1, 2, 3, 8], 1); drafts.draft([5, 1], 9)  ->  [2, 3]
    """

    def __init__(self, most: int, *, context: int = 3, kept: int = 32768):
        self.most = most
        self.context = context
        self.kept = kept
        self._next: dict[tuple[int, ...], tuple[int, bool]] = {}

    def learn(self, ids: Sequence[int], start: int) -> None:
        """Take note of the tokens of `ids` from `start` on, each with those before it."""
        if not self.most:
            return
        for place in range(max(start, self.context), len(ids)):
            before, token = tuple(ids[place - self.context : place]), ids[place]
            known = self._next.get(before)
            if known is None and len(self._next) >= self.kept:
                del self._next[next(iter(self._next))]
            self._next[before] = token, known is not None and known[0] == token

    def draft(self, ids: Sequence[int], most: int) -> list[int]:
        """What `ids` is likely to go on with: at most `most` tokens, often none."""
        most = min(most, self.most)
        if most < 1:
            return []
        before, out = tuple(ids[-self.context :]), list[int]()
        for _ in range(most):
            token, again = self._next.get(before, (0, False))
            if not again:
                break
            out.append(token)
            before = (*before[1:], token)
        return out
