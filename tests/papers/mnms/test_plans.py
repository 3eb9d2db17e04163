import pytest

pytest.importorskip("rapidocr_onnxruntime")
pytest.importorskip("matplotlib")
pytest.importorskip("segno")

from handaxe.core.errors import InputError  # noqa: E402
from handaxe.core.records import Group, Message, ToolCall  # noqa: E402
from handaxe.models.chat_formats.compact import Compact  # noqa: E402
from handaxe.models.tiny_image_processor import TinyImageProcessor  # noqa: E402
from handaxe.papers.mnms.plans import plans  # noqa: E402
from handaxe.testing.worlds import check_world  # noqa: E402
from handaxe.worlds.parts.demonstrate import demonstrate  # noqa: E402

FORMAT = Compact(TinyImageProcessor(8))
WORLD = plans(mistakes=0.0)
TASKS = WORLD.tasks("train", 60, 0)


def task_of(kind, form):
    return next(one for one in TASKS if (one.metadata["kind"], one.metadata["form"]) == (kind, form))


def played(task, *codes, world=WORLD):
    def planner(task, facts):
        return Message("assistant", "", (ToolCall("plan", {"code": codes[min(facts["turn"], len(codes) - 1)]}),))

    return demonstrate(world.env(()), task, planner if codes else world.expert, format=FORMAT, max_turns=4)


def figures(one, world=WORLD):
    return {name: gauge.top(one, 0.0) / gauge.bottom(one, 0.0) for name, gauge in world.gauges.items()}


def right(one):
    return WORLD.correct(Group(one.task, (one,))).outcome[0]


def test_plans_keeps_the_world_contract():
    check_world(plans(), count=8)


@pytest.mark.parametrize("kind", ["number", "price", "total"])
def test_a_plan_that_runs_answers_and_ends_the_rollout(kind):
    one = played(task_of(kind, "printed"))
    assert len(one.turns) == 1 and one.ending.kind == "completed" and right(one) == 1
    assert one.replies[0].content == one.task.answer
    assert figures(one) == {**dict.fromkeys(figures(one), 1.0), "edit_distance": 0, "replanned": 0}


def test_a_coded_slip_fails_at_its_execution_and_is_planned_again():
    task = task_of("price", "coded")
    one = played(task)
    assert [reply.status for reply in one.replies] == ["retry", "ok"] and right(one) == 1
    assert one.replies[0].content == "execute: node 1: no number found"
    assert figures(one)["replanned"] == 1 and figures(one)["tool_f1"] == 1
    first = played(task, task.metadata["tries"][0])
    assert right(first) == 0 and figures(first)["tool_f1"] == 2 * 2 / 6 and figures(first)["plan_acc"] == 0


def test_feedback_names_the_stage_and_stays_general_for_other_stages():
    task = task_of("number", "printed")
    bad = ["zoom", "zoom(x=n0.y)", 'zoom(box="9 9 9 9")', 'zoom(box="0 0 2 2")', task.metadata["plan"]]
    told = [reply.content for reply in played(task, *bad[:4]).replies]
    assert told == [
        "parse: node 0 is no call",
        "verify: node 0: zoom takes box, not x",
        "execute: node 0: '9 9 9 9' is no box",
        "execute: the last node gives an image",
    ]
    world = plans(mistakes=0.0, checks=("verify",))
    told = [reply.content for reply in played(task, *bad[:3], world=world).replies]
    assert told[0] == told[2] == "the plan failed" and told[1].startswith("verify: ")


def test_mistakes_are_the_share_of_wrong_first_plans_and_the_expert_recovers():
    world = plans(mistakes=1.0)
    tasks = world.tasks("train", 16, 0)
    rollouts = [played(task, world=world) for task in tasks]
    stages = {one.replies[0].content.partition(":")[0] for one in rollouts}
    assert stages == {"parse", "verify"} and all(right(one) for one in rollouts)


def test_a_rollout_without_a_plan_has_no_labels():
    one = demonstrate(WORLD.env(()), TASKS[0], lambda task, facts: Message("assistant", "1"), format=FORMAT)
    assert right(one) == 0 and figures(one)["tool_f1"] == 0 and figures(one)["edit_distance"] == 1


def test_invalid_arguments_raise():
    for wrong in ({"mistakes": 2}, {"checks": ("lint",)}):
        with pytest.raises(InputError, match="give a share"):
            plans(**wrong)
