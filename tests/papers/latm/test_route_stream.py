import pytest

pytest.importorskip("reasoning_gym")

from handaxe.papers.latm.route_stream import FAMILIES, SHOWN, family_tasks, question_text, route_stream


@pytest.fixture(scope="module")
def shown():
    return {name: family_tasks(name, 2 * SHOWN, 3, "train") for name in FAMILIES}


def test_the_first_question_of_a_family_goes_to_the_maker(shown):
    stream = route_stream(shown, 2, 2000, 3)
    families = [one.metadata["generator"] for one in stream.tasks]
    assert sorted(families) == sorted(FAMILIES * 2) and families != sorted(families)
    seen = set()
    for route, family in zip(stream.routes, families, strict=True):
        assert route == (family if family in seen else None)
        seen.add(family)
    assert stream.tools.keys() == stream.costs.keys() == set(FAMILIES)
    assert 0 < stream.costs["gcd"] <= 2000 and stream.tools["gcd"] is not None
    assert stream.tools["prime_factorization"] is None, "no block factorizes"


def test_equal_seeds_give_equal_streams_of_test_questions(shown):
    one, again, other = (route_stream(shown, 1, 10, seed) for seed in (3, 3, 4))
    assert one.tasks == again.tasks != other.tasks
    worked = {question_text(task) for own in shown.values() for task in own}
    assert not worked & {question_text(task) for task in one.tasks}
