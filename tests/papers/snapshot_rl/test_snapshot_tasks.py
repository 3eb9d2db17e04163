import pytest

from handaxe.core.errors import InputError
from handaxe.papers.snapshot_rl.snapshot_tasks import snapshot_tasks
from handaxe.testing.make_records import make_group, make_rated, make_task


class _Store:
    def draw(self, step, count, *, seed):
        return [make_task(id=f"t{step}-{n}-{seed}") for n in range(count)]


class _After:
    def __init__(self):
        self.seen = []

    def observe(self, groups):
        self.seen += [one.group.step for one in groups]


def test_the_curriculum_changes_to_true_starts():
    store = _Store()
    usual = [make_task(id=f"u{n}") for n in range(3)]
    curriculum = snapshot_tasks(store=store, steps=2)(usual, 0)
    curriculum.next(-1, 0)
    names = [[task.id[0] for task in curriculum.next(step, 2)] for step in range(4)]
    assert names == [["t", "t"], ["t", "t"], ["u", "u"], ["u", "u"]]
    copy = snapshot_tasks(store=store, steps=2)(usual, 0)
    copy.load_state_dict(curriculum.state_dict())
    assert copy.next(4, 2) == curriculum.next(4, 2)
    with pytest.raises(InputError, match="0 or more training steps"):
        snapshot_tasks(store=store, steps=-1)


def test_groups_of_true_starts_alone_reach_the_usual_curriculum():
    after = _After()
    curriculum = snapshot_tasks(store=_Store(), steps=2, after=lambda tasks, seed: after)([], 0)
    curriculum.observe([make_rated(group=make_group(step=step)) for step in (0, 1, 2, 3)])
    assert after.seen == [2, 3]
