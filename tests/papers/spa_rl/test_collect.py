from handaxe.papers.spa_rl.collect import GroupPool, collect
from handaxe.training.record import RunRecord
from handaxe.training.stages.teach import teach


def test_collected_groups_fill_the_pool_and_are_restored_on_resume(world, tmp_path):
    pool, site = GroupPool(), world.site(out=tmp_path)
    before = world.weights(site.engine)
    chosen = {"steps": 2, "groups": 2, "group_size": 3, "arguments": world.PLAY}
    (row,) = collect(into=pool, **chosen)(site)
    assert row["groups"] == 4 and row["trajectories"] == 12 and 0 <= row["reward"] <= 1
    assert world.same(before, world.weights(site.engine)) and site.engine.version == 0
    with RunRecord.open(tmp_path) as record:
        assert [one.id for one in record.trajectories()] == [t.id for one in pool.groups for t in one.group]

    again, unkept = GroupPool(), GroupPool()
    resumed = world.site(out=tmp_path, resume=True)
    assert collect(into=again, **chosen)(resumed) == [row]
    assert collect(into=unkept, **chosen)(world.site()) == [row]
    found = [[t.sequences[0].ids.tolist() for one in own.groups for t in one.group] for own in (pool, again, unkept)]
    assert found[0] == found[1] == found[2]
    metrics = teach(source=again, batch_size=4)(resumed._replace(out=None, resume=False))
    assert len(metrics) == 3 and resumed.engine.version == 3
