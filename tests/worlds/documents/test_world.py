import pytest

pytest.importorskip("rapidocr_onnxruntime")
pytest.importorskip("matplotlib")
pytest.importorskip("segno")
pytest.importorskip("skimage")

from handaxe.core.errors import InputError  # noqa: E402
from handaxe.core.records import Group, Message  # noqa: E402
from handaxe.models.chat_formats.compact import Compact  # noqa: E402
from handaxe.models.tiny_image_processor import TinyImageProcessor  # noqa: E402
from handaxe.testing.worlds import check_world  # noqa: E402
from handaxe.worlds.documents.world import documents, slip_iou  # noqa: E402
from handaxe.worlds.parts.demonstrate import demonstrate  # noqa: E402
from handaxe.worlds.parts.reference_calls import reference_calls  # noqa: E402

FORMAT = Compact(TinyImageProcessor(8))
WORLD = documents()
TASKS = documents(seen=("place", "stamp")).tasks("train", 120, 0)


def task_of(kind, form=None):
    return next(one for one in TASKS if one.metadata["kind"] == kind and (form is None or one.metadata["form"] == form))


def played(task, expert=None, world=WORLD):
    return demonstrate(world.env(world.tools), task, expert or world.expert, format=FORMAT)


def right(one):
    return WORLD.correct(Group(one.task, (one,))).outcome[0]


def gauge(name, *rollouts, world=WORLD):
    top, bottom = (sum(part(one, 0.0) for one in rollouts) for part in world.gauges[name])
    return top / bottom if bottom else 0.0


def test_documents_keeps_the_world_contract():
    check_world(WORLD, count=10)


READ = {"printed": "ocr", "coded": "read_code", "pictured": "image_search"}
CHAINS = [
    *[("number", form, ["zoom", reader]) for form, reader in READ.items()],
    ("price", "printed", ["zoom", "ocr"]),
    ("price", "coded", ["zoom", "read_code", "search"]),
    ("price", "pictured", ["zoom", "image_search", "search"]),
    ("total", "printed", ["zoom", "ocr", "search", "calculator"]),
    ("total", "coded", ["zoom", "read_code", "search", "calculator"]),
    ("total", "pictured", ["zoom", "image_search", "search", "calculator"]),
]


@pytest.mark.parametrize("kind, form, names", CHAINS)
def test_every_kind_of_question_takes_its_chain_of_tools(kind, form, names):
    """The answer stands in the last reply, so that the chain tells it."""
    one = played(task_of(kind, form))
    assert [call.name for call in one.calls] == names and right(one) == 1
    assert {reply.status for reply in one.replies} == {"ok"} and one.task.answer in one.replies[-1].content
    assert gauge("wasted_calls", one) == 0 and gauge("iou", one) == 1


def test_places_take_no_tool():
    for kind, key in (("place", "gold"), ("stamp", "stamp")):
        task = task_of(kind)
        places = task.metadata[key][:2] if kind == "place" else task.metadata[key][1:]
        assert task.answer == " ".join(map(str, places)) and not played(task).calls
        assert task.metadata["needs_tool"] == "no" and not reference_calls(task)


def test_documents_matches_its_example():
    one = played(task_of("price", "coded"))
    number = one.task.metadata["slips"][0][3]
    assert one.task.messages[0].content == "red price?\ufffc"
    assert one.replies[1].content == str(number)
    assert one.replies[2].content.startswith(f"{one.task.answer}+")


def test_the_expert_zooms_if_unsure_and_calls_offered_tools_alone():
    facts = {"turn": 0, "replies": [], "statuses": [], "tools": ["zoom"], "sure": False}
    assert WORLD.expert(task_of("place"), facts).calls[0].name == "zoom"
    assert not WORLD.expert(task_of("place"), {**facts, "turn": 1}).calls
    assert WORLD.expert(task_of("total"), {**facts, "tools": []}).content == task_of("total").answer


def test_a_wasteful_expert_makes_needless_calls_and_is_correct():
    world = documents(wasteful=1.0)
    tasks = [task for task in world.tasks("train", 40, 0) if task.metadata["needs_tool"] == "yes"]
    rollouts = [played(task, world=world) for task in tasks]
    assert all(len(one.calls) == 1 + len(reference_calls(one.task)) and right(one) for one in rollouts)
    assert 0.2 < gauge("wasted_calls", *rollouts, world=world) < 0.5
    searched = [one for one in rollouts if one.task.metadata["kind"] == "number"]
    assert 0 < gauge("searched", *searched, world=world) < 1


def test_an_answer_alone_looks_at_nothing():
    one = played(task_of("number"), lambda task, facts: Message("assistant", "1"))
    assert right(one) == 0 and slip_iou(Group(one.task, (one,))).outcome[0] == 0
    assert gauge("looked", one) == gauge("iou", one) == gauge("searched", one) == 0


@pytest.mark.parametrize("needed", [0.0, 0.3, 1.0])
def test_needed_is_the_share_of_questions_for_tools(needed):
    tasks = documents(needed=needed).tasks("train", 200, 0)
    assert sum(task.metadata["needs_tool"] == "yes" for task in tasks) / 200 == pytest.approx(needed, abs=0.1)


def test_kinds_and_forms_restrict_the_questions():
    tasks = documents(kinds=("total",), forms=("coded",), needed=1.0).tasks("test", 10, 0)
    assert {(task.metadata["kind"], task.metadata["form"]) for task in tasks} == {("total", "coded")}
    names = [tool.schema.name for tool in documents(forms=("printed", "coded")).tools]
    assert names == ["ocr", "read_code", "search", "calculator"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kinds": ()},
        {"kinds": ("sum",)},
        {"forms": ()},
        {"seen": ("colour",)},
        {"needed": 2},
        {"wasteful": -1},
        {"size": 39},
    ],
)
def test_invalid_arguments_raise(wrong):
    with pytest.raises(InputError, match="give|shares"):
        documents(**wrong)


def test_search_finds_articles_by_number_alone():
    (search,) = (one for one in WORLD.tools if one.schema.name == "search")
    number = TASKS[0].metadata["slips"][0][3]
    assert search(f"article {number}").startswith(f"{TASKS[0].metadata['slips'][0][4]}+")
    assert search("red") == search("1") == search("") == "nothing found"
