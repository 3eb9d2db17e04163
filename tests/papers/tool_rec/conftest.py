import numpy as np
import pytest

from handaxe.papers.tool_rec.film_data import FilmData
from handaxe.papers.tool_rec.film_tools import FrozenRecommender


def made_films(users=24, items=60, kinds=3):
    """Users who watch films of one kind, at random; years are random."""
    rng = np.random.default_rng(0)
    kind = np.arange(items) % kinds
    sequences = tuple(rng.permutation(np.flatnonzero(kind == user % kinds))[:9] for user in range(users))
    year = np.eye(2)[rng.integers(0, 2, size=items)]
    return FilmData(
        sequences,
        {"genre": np.eye(kinds)[kind], "release_year": year},
        {"genre": tuple("abc"[:kinds]), "release_year": ("1990", "1991")},
    )


@pytest.fixture(scope="session")
def films():
    return made_films()


@pytest.fixture(scope="session")
def recommender(films):
    return FrozenRecommender(films.sequences, films.items, held=3)
