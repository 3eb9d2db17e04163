import pytest

from handaxe.core.errors import InputError
from handaxe.papers.tool_rec.surrogate_user import CandidateMemory, play_user


class Fixed:
    """Tools with fixed lists."""

    def retrieve(self, attribute, count):
        return {None: [1, 2, 3], "genre": [3, 4, 5], "year": [5, 6, 7]}[attribute][:count]

    def rank(self, attribute, candidates, count):
        return sorted(candidates, reverse=True)[:count]


def test_memory_joins_lists_by_places():
    memory = CandidateMemory()
    memory.add([7, 3])
    memory.add([3, 5])
    assert memory.ranking() == [3, 7, 5]


@pytest.mark.parametrize(
    "attributes, use, items, actions",
    [
        ((), "both", [1, 2], []),
        (("genre",), "retrieve", [3, 1], ["Retrieve[genre, 3]"]),
        # lists 123 and 32: 3 has 1/63 + 1/61 = 0.032266, 2 has 2/62 = 0.032258, 1 has 1/61
        (("genre",), "rank", [3, 2], ["Rerank[genre, 2]"]),
        # lists 123, 345 and 54: 3 and 5 have 1/63 + 1/61, 4 has 2/62
        (("genre",), "both", [3, 5], ["Retrieve[genre, 3]", "Rerank[genre, 2]"]),
    ],
)
def test_sessions_end_with_the_best_candidates(attributes, use, items, actions):
    session = play_user(Fixed(), attributes, use=use, length=2, count=3)
    assert session.actions == ["Retrieve[None, 3]", *actions, "Finish"]
    assert session.items == items


def test_the_last_round_is_finish():
    session = play_user(Fixed(), ("genre", "year"), rounds=4, length=2, count=3)
    assert session.actions == ["Retrieve[None, 3]", "Retrieve[genre, 3]", "Rerank[genre, 2]", "Finish"]
    assert len(play_user(Fixed(), ("genre", "year"), length=2, count=3).actions) == 6


@pytest.mark.parametrize("options", [{"rounds": 1}, {"length": 0}, {"length": 5, "count": 4}])
def test_wrong_arguments_raise(options):
    with pytest.raises(InputError, match="2 rounds or more"):
        play_user(Fixed(), (), **options)
