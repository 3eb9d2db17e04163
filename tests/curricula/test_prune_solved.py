import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.curricula.few_tasks import few_tasks
from handaxe.curricula.in_order import in_order
from handaxe.curricula.prune_solved import prune_solved
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task


def in_turn(tasks, seed):
    return in_order(tasks, seed=seed, shuffle=False)


def tasks(letters):
    return [make_task(id=letter) for letter in letters]


def ids(found):
    return "".join(task.id for task in found)


def test_prune_solved_matches_its_example(seen):
    pool = prune_solved(around=in_turn)(tasks("abc"), 0)
    assert ids(pool.next(0, 2)) == "ab"
    pool.observe(seen(a=[1, 1], b=[1, 0]))
    assert ids(pool.next(1, 2)) == "cb"
    pool.observe(seen(c=[1, 0], b=[1, 0]))
    assert ids(pool.next(2, 2)) == "cb"


def test_prune_solved_matches_a_slow_loop(seen):
    """A plain list per epoch, and the solved struck out of the next; each step is one epoch of what is left."""
    rng, left = np.random.default_rng(0), "abcdefgh"
    pool = prune_solved(rate=0.75, above=0.2, around=in_turn)(tasks(left), 0)
    for step in range(4):
        assert ids(pool.next(step, len(left))) == left
        outcome = {letter: (rng.random(4) * 0.4).tolist() for letter in left}
        pool.observe(seen(**outcome))
        left = "".join(letter for letter in left if sum(x > 0.2 for x in outcome[letter]) < 3)
    assert 0 < len(left) < 8


def test_a_repeated_step_has_the_same_tasks_and_a_larger_one_more(seen):
    pool = prune_solved(around=in_turn)(tasks("abcd"), 0)
    assert ids(pool.next(0, 2)) == "ab"
    pool.observe(seen(a=[1], d=[1]))
    assert ids(pool.next(0, 2)) == "ab"
    assert ids(pool.next(0, 4)) == "abcd"  # a further round of the same step
    assert ids(pool.next(1, 3)) == "bcb"


def test_unsolved_tasks_return_and_all_do_when_none_is_left(seen):
    pool = prune_solved(around=in_turn)(tasks("ab"), 0)
    pool.observe(seen(a=[1]))
    pool.observe(seen(a=[0]))
    assert not pool.solved
    pool.observe(seen(a=[1, 1], b=[1, np.nan]))
    assert pool.solved == {"a", "b"}
    assert ids(pool.next(0, 3)) == "aba" and not pool.solved


def test_unscored_siblings_do_not_count(seen):
    pool = prune_solved()(tasks("ab"), 0)
    pool.observe(seen(a=[1, 1]))
    pool.observe(seen(a=[np.nan, np.nan]))
    assert pool.solved == {"a"}


def test_prune_solved_resumes_from_its_state(seen):
    made = prune_solved(around=few_tasks(count=5))
    one, other = made(tasks("abcdefg"), 3), made(tasks("abcdefg"), 3)
    for step in range(3):
        pool = one.next(step, 3)
        one.observe(seen(**{pool[0].id: [1, 1]}))
    other.load_state_dict(one.state_dict())
    assert other.state_dict() == one.state_dict()
    assert [ids(other.next(step, 3)) for step in (2, 3, 4)] == [ids(one.next(step, 3)) for step in (2, 3, 4)]


def test_a_channel_decides_and_an_invalid_rate_is_rejected():
    pool = prune_solved(channel="correct")(tasks("a"), 0)
    scores = make_scores([0.2, 0.2], channels={"correct": [1.0, 1.0]})
    pool.observe([make_rated(group=make_group(size=2, task=make_task(id="a")), scores=scores)])
    assert pool.solved == {"a"}
    with pytest.raises(InputError, match="rate"):
        prune_solved(rate=0.0)
