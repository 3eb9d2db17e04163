"""Session of a surrogate user: retrieval and ranking by attributes, a memory of candidates, and the final list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from handaxe.core.errors import InputError
from handaxe.tools.index.fusion import reciprocal_rank_fusion

__all__ = ["CandidateMemory", "FilmTools", "ToolUse", "UserSession", "play_user"]

ROUNDS = 7
"""Most actions of a session, Finish included."""
ToolUse = Literal["both", "retrieve", "rank"]


class FilmTools(Protocol):
    """Tools of one user. An attribute of None retrieves without a condition."""

    def retrieve(self, attribute: str | None, count: int) -> list[int]:
        """The best items that the user has not used."""
        ...

    def rank(self, attribute: str, candidates: Sequence[int], count: int) -> list[int]:
        """The first candidates after ranking by an attribute."""
        ...


class UserSession(NamedTuple):
    """Recommended items, best first, and actions such as "Retrieve[genre, 20]"."""

    items: list[int]
    actions: list[str]


class CandidateMemory:
    """Lists of all tool results, joined by reciprocal rank fusion.

    Example:
        lists 7 3 and 3 5: the ranking is 3 7 5

    Paper: arXiv:2405.15114 (ToolRec), memory of candidates.
    Differs: fusion by a rule; the paper's language model reads all lists and writes the final one.
    """

    def __init__(self) -> None:
        self._lists: list[list[int]] = []

    def add(self, items: Sequence[int]) -> None:
        """Append a tool's result."""
        self._lists.append(list(items))

    def ranking(self) -> list[int]:
        """All candidates, best first."""
        return [item for item, _ in reciprocal_rank_fusion(self._lists)]


def play_user(
    tools: FilmTools,
    attributes: Sequence[str],
    *,
    use: ToolUse = "both",
    rounds: int = ROUNDS,
    length: int = 10,
    count: int = 20,
) -> UserSession:
    """Play a session.

        Retrieve[None, count]
        for each attribute while rounds are left:  Retrieve[attribute, count], Rerank[attribute, length]
        Finish: the first `length` items of the memory

    The last round is Finish.

    Args:
        tools: of the user.
        attributes: in the order of use; none gives the recommender's own list.
        use: tools that take an attribute.
        rounds: most actions, 2 or more.
        length: items of the final list, >= 1.
        count: items of a retrieval, at least `length`.

    Raises:
        InputError: rounds, length or count out of range.

    Example:
        attributes ("genre",): Retrieve[None, 20], Retrieve[genre, 20], Rerank[genre, 10], Finish

    Paper: arXiv:2405.15114 (ToolRec), user decision simulation; actions and 7 rounds as in the released code.
    Differs: a fixed order of actions; the paper's language model writes a thought and chooses each action.
    """
    if rounds < 2 or not 1 <= length <= count:
        raise InputError(
            f"play_user: give 2 rounds or more and 1 <= length <= count; rounds is {rounds}, length {length}, "
            f"count {count}"
        )
    memory = CandidateMemory()
    memory.add(tools.retrieve(None, count))
    actions = [f"Retrieve[None, {count}]"]
    kinds = ("retrieve", "rank") if use == "both" else (use,)
    for attribute, kind in [(attribute, kind) for attribute in attributes for kind in kinds][: rounds - 2]:
        if kind == "retrieve":
            memory.add(tools.retrieve(attribute, count))
            actions.append(f"Retrieve[{attribute}, {count}]")
        else:
            memory.add(tools.rank(attribute, memory.ranking(), length))
            actions.append(f"Rerank[{attribute}, {length}]")
    return UserSession(memory.ranking()[:length], [*actions, "Finish"])
