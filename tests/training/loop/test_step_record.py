import numpy as np

from handaxe.core.records import Disposition
from handaxe.selection.parts.dispositions import apply_selector
from handaxe.testing.make_records import make_group, make_rated, make_task, make_trajectory
from handaxe.training.loop.step_record import step_record


def rated(name, outcome):
    siblings = [make_trajectory(id=f"{name}/{i}", sample=i) for i in range(len(outcome))]
    return make_rated(group=make_group(trajectories=siblings, task=make_task(id=name)), outcome=outcome)


def test_step_record_marks_trained_rollouts_and_dropped_groups():
    one, other = rated("a", [1, 0]), rated("b", [1, 1])

    def first_only(groups):
        return list(groups[:1])

    final = apply_selector(first_only, [one, other])
    moved = {trajectory.id: tuple(sequence.mask for sequence in trajectory.sequences) for trajectory in one.group}
    trained, dropped = step_record([one, other], final, moved)
    assert trained.live and trained.trained.all() and not dropped.live and not dropped.trained.any()
    assert trained.dispositions == ((Disposition("trained"),),) * 2
    assert all(own[-1].kind == "dropped" for own in dropped.dispositions)
    assert np.array_equal(trained.advantages.tokens[0][0], one.advantages.tokens[0][0])
    assert trained.moved is not None
