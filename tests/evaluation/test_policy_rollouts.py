from handaxe.evaluation.policy_rollouts import policy_rollouts
from handaxe.worlds.arithmetic import arithmetic


def test_each_task_has_scored_rollouts_and_equal_seeds_are_equal():
    world = arithmetic()
    play = policy_rollouts(world)
    found = play("test", tasks=2, samples=3, seed=4)
    assert [group.task.id for group, _ in found] == [task.id for task in world.tasks("test", 2, 4)]
    assert [len(group) for group, _ in found] == [3, 3]
    assert all(scores.outcome.tolist() == world.correct(group).outcome.tolist() for group, scores in found)
    again = play("test", tasks=2, samples=3, seed=4)
    assert [[one.messages for one in group] for group, _ in again] == [[one.messages for one in g] for g, _ in found]
