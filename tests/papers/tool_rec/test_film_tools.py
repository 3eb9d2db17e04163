import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.tool_rec.film_tools import CaseTools, FrozenRecommender, TrainedTools


def test_the_recommender_sees_no_held_out_item(films, recommender):
    assert recommender.count_I.sum() == sum(len(one) - 3 for one in films.sequences)
    for place in range(3):
        logits = recommender.logits(place)
        for user, sequence in enumerate(films.sequences):
            assert recommender.targets(place)[user] == sequence[len(sequence) - 3 + place]
            assert set(np.flatnonzero(np.isinf(logits[user]))) == set(sequence[: len(sequence) - 3 + place])


def test_the_condition_retrieves_films_of_the_preferred_kind(films, recommender):
    trained = TrainedTools(recommender, films, recommender.logits(0))
    logits = recommender.logits(1)
    rows = {None: np.where(np.isinf(logits[0]), -np.inf, 0.0)}
    flat = np.where(np.isinf(logits), -np.inf, 0.0)
    rows["genre"] = trained.conditioned("genre", 1, flat)[0]
    recent = recommender.history(0, 1)
    tools = CaseTools(trained, rows, recent)
    found = tools.retrieve("genre", 10)
    assert [one % 3 for one in found] == [0] * 10 and not set(found) & set(recent.tolist())
    assert tools.rank("genre", [1, 3, 2, 6], 3) == [3, 6, 1]
    lifts = trained.lifts(0, 1)
    assert lifts["genre"] > 0 and lifts["genre"] > lifts["release_year"]


def test_retrieval_gives_unused_items_only(films, recommender):
    trained = TrainedTools(recommender, films, recommender.logits(0))
    row = np.full(60, -np.inf)
    row[[4, 2, 9]] = 1.0, 3.0, 2.0
    assert CaseTools(trained, {None: row}, np.array([0])).retrieve(None, 20) == [2, 9, 4]


@pytest.mark.parametrize("held", [1, 9])
def test_a_short_sequence_raises(films, held):
    with pytest.raises(InputError, match="leave out users"):
        FrozenRecommender(films.sequences, films.items, held=held)
