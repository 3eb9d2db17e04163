import pytest


@pytest.fixture
def sampled():
    """Makes `Sampled` engines of the tiny model, and closes them."""
    from helpers.sampled_engine import Sampled, make_model  # needs starlette, uvicorn and httpx

    made = []

    def make(*args, **options):
        made.append(Sampled(make_model(), *args, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.close()
