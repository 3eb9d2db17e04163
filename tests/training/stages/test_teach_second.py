from handaxe.core.records import Message
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach_second import teach_second


def lessons(site):
    said = [Message("user", "a step"), Message("assistant", "yes")]
    return [trajectory_from_messages(site.format, said, id=str(i)) for i in range(4)]


def test_the_second_policy_is_taught_and_the_runs_own_is_not(world, tmp_path):
    second, site = AuxLearner(), world.speaking_site(out=tmp_path)
    before = world.weights(site.engine)
    source = scripted(trajectories=lessons)
    metrics = teach_second(second=second, source=source, batch_size=2)(site)
    assert len(metrics) == 2 and second.engine.version == 2
    assert world.same(before, world.weights(site.engine)) and not world.same(before, world.weights(second.engine))
    final = world.weights(second.engine)
    again, fresh = AuxLearner(), world.speaking_site(out=tmp_path, resume=True)
    teach_second(second=again, source=source, batch_size=2)(fresh)
    assert world.same(final, world.weights(again.engine)) and world.same(before, world.weights(fresh.engine))
