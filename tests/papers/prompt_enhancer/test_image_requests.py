import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.papers.prompt_enhancer.image_requests import image_requests, key_points, met_points, rewritten_prompt
from handaxe.testing import check_world
from handaxe.testing.make_records import make_trajectory

pytest.importorskip("PIL")


def written(task, text):
    return make_trajectory(texts=[text], task=task)


def test_image_requests_keep_the_world_contract():
    check_world(image_requests(), count=12)


def test_rewritten_clauses_meet_every_point_and_copies_do_not():
    careful, careless = image_requests(), image_requests(careful=0.0)
    shares = []
    for task, copied in zip(careful.tasks("train", 60, 0), careless.tasks("train", 60, 0)):
        one = written(task, task.metadata["demonstrated"])
        assert all(all(row) for row in met_points(one)) and careful.correct(Group(task, (one,))).outcome.tolist() == [1]
        assert copied.messages == task.messages
        shares.append(careless.gauges["aligned"].top(written(copied, copied.metadata["demonstrated"]), 0.0))
    assert 0.3 < sum(shares) / 60 < 0.8


def test_an_answer_by_hand():
    world = image_requests()
    task = next(t for t in world.tasks("train", 200, 0) if t.metadata["demonstrated"].startswith("count negation"))
    (count, one, negation) = key_points(task)
    assert [p.category for p in (count, one, negation)] == ["count", "object", "negation"]
    places = "; ".join(f"{count.items[0]} {2 * n} 0" for n in range(count.number))
    good = written(task, f"count negation | {places}; {one.items[0]}")
    assert met_points(good) == [[True] * 3] * 4
    bad = written(task, f"count negation | {places}; {one.items[0]} without {negation.items[0]}")
    assert met_points(bad) == [[True, True, False]] * 4
    assert world.correct(Group(task, (good, bad))).outcome.tolist() == [1, 0]
    assert [world.gauges[name].top(bad, 0.0) for name in ("count", "object", "negation", "relation")] == [1, 1, 0, 0]
    assert [world.gauges[name].bottom(bad, 0.0) for name in ("count", "relation")] == [1, 0]


def test_the_prompt_is_the_text_after_the_last_divider():
    assert rewritten_prompt("a | b | red disc 0 0 ") == "red disc 0 0" and rewritten_prompt("red disc") == "red disc"


def test_arguments_out_of_range_are_refused():
    with pytest.raises(InputError, match="clauses=3"):
        image_requests(clauses=3)
    with pytest.raises(InputError, match="a share of 0 to 1"):
        image_requests(careful=1.5)
