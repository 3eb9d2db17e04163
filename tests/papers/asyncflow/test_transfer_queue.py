import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.asyncflow.transfer_queue import TransferQueue
from handaxe.testing.simulated import SimulatedClock, SimulatedWorkers


def rows(found):
    return [row.place for row in found]


def test_get_returns_rows_with_all_needed_columns_once_per_consumer():
    queue, needs = TransferQueue(["resp", "old", "adv"]), ["resp", "old", "adv"]
    queue.add(range(4))
    for name in ("resp", "old"):
        queue.put(name, {row: f"{name}{row}" for row in range(4)})
    queue.put("adv", {0: "adv0", 2: "adv2"})
    first = queue.get("train", needs, 2)
    assert rows(first) == [0, 2] and first[1].cells == {"resp": "resp2", "old": "old2", "adv": "adv2"}
    assert queue.get("train", needs, 1) == []
    queue.put("adv", {1: "adv1"})
    assert rows(queue.get("train", needs, 1)) == [1]
    assert rows(queue.get("reference", ["resp"], 4)) == [0, 1, 2, 3]  # each consumer has its own account


def pipeline(streamed):
    """4 micro-batches, generated in 2 s each and trained in 1 s each; the seconds it takes."""
    clock = SimulatedClock()
    workers = SimulatedWorkers(clock, lambda request: 0)
    queue = TransferQueue(["played"])
    queue.add(range(4))
    made = trained = 0
    training = False
    workers.submit(0, workers.takes(2))
    while trained < 4:
        for ticket, _ in workers.ready(None):
            if ticket == 0:
                queue.put("played", {made: None})
                made += 1
                if made < 4:
                    workers.submit(0, workers.takes(2))
            else:
                trained, training = trained + 1, False
        if not training and (streamed or made == 4) and queue.get("train", ["played"], 1):
            workers.submit(1, workers.takes(1))
            training = True
    return clock.now


def test_a_streamed_pipeline_takes_9_seconds_instead_of_12():
    assert pipeline(streamed=False) == 12
    assert pipeline(streamed=True) == 9


def test_in_order_a_row_waits_for_those_below_it():
    queue = TransferQueue(["played"])
    queue.add(range(3))
    queue.put("played", {1: "b", 2: "c"})
    assert queue.get("stateful", ["played"], 1, in_order=True) == []
    assert rows(queue.get("plain", ["played"], 1)) == [1]
    queue.put("played", {0: "a"})
    assert rows(queue.get("stateful", ["played"], 3, in_order=True)) == [0, 1, 2]


def test_any_arrival_gives_each_row_once_to_each_consumer():
    for seed in range(20):
        rng = random.Random(seed)
        queue, cells = TransferQueue(["a", "b"]), [(name, row) for name in "ab" for row in range(12)]
        queue.add(range(12))
        rng.shuffle(cells)
        got, done = [], set()
        for cell in cells:
            queue.put(cell[0], {cell[1]: cell})
            done.add(cell)
            while found := queue.get("both", ["a", "b"], rng.choice([1, 1, 2])):
                assert all(("a", row) in done and ("b", row) in done for row in rows(found))
                got += rows(found)
        while found := queue.get("both", ["a", "b"], 1):
            got += rows(found)
        assert sorted(got) == list(range(12))


def test_threads_get_every_row_once():
    queue = TransferQueue(["played"])
    queue.add(range(400))

    def work(k):
        queue.put("played", dict.fromkeys(range(100 * k, 100 * k + 100), k))
        out = []
        while found := queue.get("train", ["played"], 1):
            out += rows(found)
        return out

    with ThreadPoolExecutor(4) as pool:
        got = [row for part in pool.map(work, range(4)) for row in part]
    while found := queue.get("train", ["played"], 1):
        got += rows(found)
    assert sorted(got) == list(range(400))


def test_transfer_queue_refuses_unknown_rows_columns_and_counts():
    queue = TransferQueue(["played"])
    queue.add([0])
    queue.put("played", {0: 1})
    with pytest.raises(InputError, match="rows \\[0\\] are in the queue already"):
        queue.add([0])
    with pytest.raises(InputError, match="rows \\[5\\] are not in the queue: add them first"):
        queue.put("played", {5: 1})
    with pytest.raises(InputError, match="a cell is written once"):
        queue.put("played", {0: 2})
    with pytest.raises(InputError, match="no columns \\['reward'\\]; it has played"):
        queue.get("train", ["reward"], 1)
    with pytest.raises(InputError, match="asked for 0 rows"):
        queue.get("train", ["played"], 0)
