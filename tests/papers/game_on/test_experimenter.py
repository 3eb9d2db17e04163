import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.curricula.in_order import InOrder
from handaxe.papers.game_on.experimenter import experimenter, propose
from handaxe.testing.make_records import make_group, make_rated, make_scores


def task(number, *skills):
    return Task(f"t{number}", (Message("user", "go"),), None, metadata={"skills": list(skills)})


TASKS = [task(n, *skills) for n, skills in enumerate([("a",), ("b",), ("c",), ("a", "b"), ("b", "a"), ("a", "c")] * 3)]


def rated(skills, *outcomes):
    group = make_group(size=len(outcomes), task=task(99, *skills))
    return make_rated(group=group, scores=make_scores(list(outcomes)))


def keys(tasks):
    return [tuple(one.metadata["skills"]) for one in tasks]


def test_rates_of_9_2_and_0_tenths_compose_a_with_b():
    assert propose({"a": 0.9, "b": 0.2, "c": 0.0}) == ("a", "b")


@pytest.mark.parametrize("rates", [{"a": 0.5, "b": 0.4, "c": 0.9}, {"a": 0.9, "b": 0.95}, {"x": 0.0, "y": 0.0}])
def test_propose_equals_a_slow_loop(rates):
    best = None
    for name in sorted(rates):
        if rates[name] < 0.8 or all(rate >= 0.8 for rate in rates.values()):
            gain = rates[name] * (1 - rates[name])
            if best is None or gain > best[1]:
                best = (name, gain)
    known = max((n for n in sorted(rates) if n != best[0]), key=lambda n: rates[n])
    assert propose(rates) == (known, best[0])


def test_untried_skills_come_first_and_then_the_composition_and_its_new_skill():
    pool = experimenter()(TASKS, 0)
    assert pool.next(-1, 0) == []
    assert keys(pool.next(0, 3)) == [("a",), ("b",), ("c",)]
    pool.observe([rated("a", 1, 1, 1, 0.6), rated("b", 0.2, 0.2), rated("c", 0, 0)])
    assert pool.rates == pytest.approx({("a",): 0.9, ("b",): 0.2, ("c",): 0.0})
    assert keys(pool.next(1, 4)) == [("a", "b"), ("b",), ("a", "b"), ("b",)]
    assert pool.next(1, 4) == pool.next(1, 4) and keys(pool.next(1, 6))[:4] == keys(pool.next(1, 4))
    pool.observe([rated(("a", "b"), 0.5, 0.5), rated("b", 1, 1)])
    assert pool.rates[("b",)] == pytest.approx(0.6) and pool.rates[("a", "b")] == 0.5
    assert keys(pool.next(2, 2)) == [("b", "a"), ("b",)], "the order of the composition with the lower rate"


def test_the_state_goes_on_in_a_copy():
    one, other = experimenter()(TASKS, 0), experimenter()(TASKS, 0)
    one.next(0, 3)
    one.observe([rated("a", 1), rated("b", 0.5), rated("c", 0)])
    one.next(1, 2)
    other.load_state_dict(one.state_dict())
    assert other.rates == one.rates and [one.next(k, 4) for k in (2, 3)] == [other.next(k, 4) for k in (2, 3)]


def test_uniform_is_in_order():
    assert isinstance(experimenter(choice="uniform")(TASKS, 0), InOrder)


def test_a_pool_without_single_skills_or_compositions_gives_what_it_has():
    assert set(keys(experimenter()([task(0, "a", "b"), task(1, "b", "a")], 0).next(0, 2))) == {("a", "b"), ("b", "a")}
    singles = experimenter()([task(0, "a"), task(1, "b")], 0)
    singles.observe([rated("a", 1), rated("b", 0.5)])
    assert keys(singles.next(0, 2)) == [("b",), ("b",)]


def test_invalid_arguments_raise():
    for bad in ({"choice": "other"}, {"mastered": 2.0}, {"decay": 1.0}):
        with pytest.raises(InputError, match="experimenter or uniform"):
            experimenter(**bad)
    with pytest.raises(TaskError, match="skills"):
        experimenter()([Task("t", (Message("user", "go"),), None)], 0)
    with pytest.raises(TaskError, match="empty"):
        experimenter()([], 0)
