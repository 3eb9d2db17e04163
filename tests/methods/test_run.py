from dataclasses import replace

from handaxe.methods.chosen import choice
from handaxe.methods.run import run
from handaxe.training.pace import Keep

SMALL = {"steps": 1, "groups": 2, "group_size": 2, "held_out": 2, "max_tokens": 8, "model": "tiny"}


def test_the_stages_of_a_method_come_before_its_steps(tmp_path):
    seen = []

    def stage(site):
        seen.append((site.engine.version, site.out.parent, len(site.tasks.next(0, 2))))
        return [{"loss": 1.0}]

    def staged(base):
        return replace(base, stages=(stage,))

    made = choice("quickstart")
    made = replace(made, recipe=made.recipe._replace(name="staged", make=staged))
    result = run(made.read(SMALL), Keep(out=tmp_path / "run", progress=False))
    assert seen == [(0, tmp_path / "run" / "stages", 2)] and len(result.metrics) == 1
