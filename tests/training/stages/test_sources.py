import pytest

from handaxe.core.errors import InputError
from handaxe.curricula.in_order import in_order
from handaxe.training.loop.train import train
from handaxe.training.stages.sources import joined, played, recorded, scripted


def ids(groups):
    return [[t.sequences[0].ids.tolist() for t in one.group] for one in groups]


def test_played_is_what_train_plays_and_it_is_kept(world, tmp_path):
    source = played(steps=2, groups=2, group_size=3, arguments=world.PLAY)
    unkept = source(world.site(seed=5))
    kept = source(world.site(seed=5, out=tmp_path))
    assert ids(unkept) == ids(kept) and [len(one.group) for one in kept] == [3] * 4
    learned = world.site(seed=5, out=tmp_path, resume=True)
    train(**world.arguments(engine=learned.engine, steps=1))  # the policy is another one since
    assert ids(source(learned)) == ids(kept)
    for one in kept:
        for i, trajectory in enumerate(one.group):
            assert (
                one.advantages.tokens[i][0].tolist() == (one.scores.outcome[i] * trajectory.sequences[0].mask).tolist()
            )
    assert ids(source(world.site(seed=6))) != ids(kept)


def test_failures_are_left_out(world):
    tasks = world.Tasks([world.task(f"t{i}", fault=True) for i in range(4)])
    engine = world.Talking(world.calls_then_answers)
    found = played(groups=4, group_size=6, arguments=world.PLAY)(world.site(tasks=tasks, engine=engine))
    assert 0 < sum(len(one.group) for one in found) < 24
    assert all(t.ending.kind == "completed" for one in found for t in one.group)


def test_recorded(world, tmp_path):
    train(**world.arguments(steps=2, out=tmp_path))
    both, one = recorded(folder=tmp_path)(None), recorded(folder=tmp_path, step=1)(None)
    assert len(both) == 6 and ids(both)[3:] == ids(one) and [group.group.step for group in one] == [1, 1, 1]


def test_scripted_and_joined(world, tmp_path):
    lessons = world.conversations(2)
    fixed, made = scripted(trajectories=lessons), scripted(trajectories=lambda site: world.conversations(3))
    assert [one.group[0] for one in fixed(world.site())] == lessons
    play = played(groups=1, group_size=2, arguments=world.PLAY)
    found = joined(sources=[fixed, made, play, play])(world.site(out=tmp_path))
    assert [len(one.group) for one in found] == [1] * 5 + [2] * 2
    assert ids(found)[5] != ids(found)[6]  # they draw by themselves
    assert sorted(one.name for one in tmp_path.iterdir()) == ["source-2", "source-3"]


def test_what_train_does_not_know():
    with pytest.raises(InputError, match="no argument group_sizes"):
        played(arguments={"group_sizes": 3})


def test_what_is_played_after_something_else_plays_the_tasks_after_it(world, tmp_path):
    """Three rounds of three tasks, then a loop; killed and resumed after the second round it is the same."""

    def rounds(count, resume):
        tasks = in_order([world.task(f"t{i}") for i in range(20)])
        source, asked = played(groups=3, group_size=2, arguments=world.PLAY), []
        for number in range(count):
            found = source(world.site(out=tmp_path / str(number), seed=number, tasks=tasks, resume=resume))
            asked += [one.group.task.id for one in found]
        return [*asked, *(task.id for task in tasks.next(0, 3))]

    two, three = rounds(2, resume=False), rounds(3, resume=True)
    assert three[:6] == two[:6] and len(set(two)) == 9 and len(set(three)) == 12
