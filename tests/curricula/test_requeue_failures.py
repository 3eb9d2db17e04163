from collections import Counter

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.curricula.in_order import in_order
from handaxe.curricula.requeue_failures import requeue_failures
from handaxe.testing.make_records import make_task

LETTERS = "abcdefghijklmnop"


def in_turn(tasks, seed):
    return in_order(tasks, seed=seed, shuffle=False)


def made(letters=LETTERS, seed=0, **options):
    return requeue_failures(around=in_turn, **options)([make_task(id=letter) for letter in letters], seed)


def ids(found):
    return "".join(task.id for task in found)


def test_requeue_failures_matches_its_example(seen):
    pool = made()
    pool.observe(seen(f=[0, 0], g=[0, 0.5], h=[0, 1]))
    found = ids(pool.next(0, 8))
    assert {found[3], found[7]} == {"f", "g"} and found[:3] + found[4:7] == "abcdef"


def test_requeue_failures_matches_a_slow_loop(seen):
    """Every step: what waits, and how many of it there is room for; the others go on where they stood."""
    rng, pool = np.random.default_rng(1), made(share=0.5, every=2)
    waiting, place = set(), 0
    for step in range(8):
        found = [task.id for task in pool.next(step, 6)]
        room = min(3, len(waiting)) if step % 2 == 0 else 0
        fresh = [LETTERS[(place + k) % 16] for k in range(6 - room)]
        place += 6 - room
        rest = Counter(found) - Counter(fresh)
        assert sum(rest.values()) == room and set(rest) <= waiting
        outcome = {name: rng.choice([0.0, 1.0], 3, p=[0.8, 0.2]).tolist() for name in dict.fromkeys(found)}
        pool.observe(seen(**outcome))
        waiting |= {name for name, own in outcome.items() if sum(own) == 0}
        waiting -= {name for name, own in outcome.items() if sum(own) > 0}
        assert set(pool.waiting) == waiting
    assert waiting


def test_a_larger_count_keeps_the_first_tasks_of_a_step(seen):
    pool = made(share=0.25)
    pool.observe(seen(f=[0], g=[0], h=[0]))
    first = ids(pool.next(0, 4))
    pool.observe(seen(f=[1], g=[1], h=[1]))
    assert ids(pool.next(0, 8))[:4] == first
    assert ids(pool.next(1, 8)) == "ghijklmn"  # six were new, and no task waits any more


def test_shares_of_0_and_1_and_short_queues(seen):
    pool = made(share=1.0)
    assert ids(pool.next(0, 3)) == "abc"  # no task waits
    pool.observe(seen(a=[np.nan, np.nan], b=[0.0, np.nan], z=[0.0]))
    assert pool.waiting == ["b"]  # who was never scored has no say, and z is not ours
    assert ids(pool.next(1, 3)) == "bde"
    none = made(share=0.0)
    none.observe(seen(b=[0.0]))
    assert ids(none.next(0, 3)) == "abc"
    for wrong in ({"share": 1.5}, {"every": 0}):
        with pytest.raises(InputError, match="share"):
            requeue_failures(**wrong)


def test_requeue_failures_resumes_from_its_state(seen):
    one, other = made(seed=4), made(seed=4)
    one.observe(seen(a=[0], b=[0], c=[0], d=[0]))
    one.next(0, 4)
    one.observe(seen(b=[1]))
    other.load_state_dict(one.state_dict())
    assert other.state_dict() == one.state_dict()
    assert [ids(other.next(step, 8)) for step in (0, 1, 2)] == [ids(one.next(step, 8)) for step in (0, 1, 2)]
    assert {ids(made(seed=seed, share=1.0).next(0, 2)) for seed in range(3)} == {"ab"}


def test_draws_depend_on_the_seed_and_the_step(seen):
    def drawn(seed, step):
        pool = made(seed=seed, share=1.0)
        pool.observe(seen(**{letter: [0] for letter in "abcdefgh"}))
        return ids(pool.next(step, 8))

    assert len({drawn(seed, step) for seed in range(3) for step in range(3)}) > 6
    assert sorted(drawn(0, 0)) == list("abcdefgh")
