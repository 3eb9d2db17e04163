import pytest

pytest.importorskip("rapidocr_onnxruntime")
pytest.importorskip("matplotlib")

from handaxe.core.records import Sampling  # noqa: E402
from handaxe.engines.local.engine import LocalEngine  # noqa: E402
from handaxe.models.load import load  # noqa: E402
from handaxe.papers.gta.predict_steps import predict_steps  # noqa: E402
from handaxe.worlds.documents.world import documents  # noqa: E402


def test_every_step_of_every_reference_chain_is_predicted():
    world, policy = documents(), load("tiny_vision")
    policy.model.extend_context(512)
    tasks = world.tasks("test", 4, 0)
    made = predict_steps(
        engine=LocalEngine(policy.model),
        format=policy.format,
        world=world,
        tasks=tasks,
        sampling=Sampling(temperature=0.0, max_tokens=24),
        seed=0,
    )
    gold = [[call["name"] for call in task.metadata["gold_calls"]] + [None] for task in tasks]
    assert [one.gold and one.gold.name for one in made] == sum(gold, [])
    zooms = [one for one in made if one.gold and one.gold.name == "zoom"]
    assert zooms and all(one.predicted.raw for one in zooms)
