"""World of miniwob's pages, with and without a real Chromium."""

import json
import statistics

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, ParsedTurn, Task, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.rewards.parts.points import call_point
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.miniwob.elements import PAGES, VISUAL
from handaxe.worlds.miniwob.goals import LONG
from handaxe.worlds.miniwob.world import _expert, miniwob
from handaxe.worlds.parts.demonstrate import demonstrate

FACTS = {"turn": 0, "replies": [], "statuses": [], "tools": ["click"]}


def asked(page, query, *elements):
    """A task in stored form; elements are (tag, text, on)."""
    kept = [[n, *one, [0, 0, 9, 9]] for n, one in enumerate(elements, start=40)]
    return Task("t", (Message("user", query),), None, None, {"page": page, "query": query, "elements": kept})


def clicks(*refs):
    return ParsedTurn("", tuple(ToolCall("click", {"ref": ref}, f"c{n}") for n, ref in enumerate(refs)))


def test_the_expert_clicks_by_list_number():
    task = asked("click-button", 'Click on the "ok" button.', ("button", "no", None), ("button", "ok", None))
    assert _expert(task, FACTS).calls == (ToolCall("click", {"ref": 2}),)
    assert not _expert(task, {**FACTS, "tools": []}).calls
    later = asked("click-button", 'Click on the "ok" button.', ("button", "ok", None)).metadata
    seen = {"query": later["query"], "elements": later["elements"], "clicked": ["no"]}
    assert _expert(task, {**FACTS, **seen, "turn": 1}).calls == (ToolCall("click", {"ref": 1}),)


needs_browser = pytest.mark.usefixtures("chromium_of_miniwob")


@pytest.mark.browser
@pytest.mark.slow
@needs_browser
class TestInChromium:
    @pytest.fixture(scope="class")
    def cache(self, tmp_path_factory):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
            yield

    @pytest.fixture(scope="class")
    def world(self, cache):
        return miniwob(instances=160)

    @pytest.fixture(scope="class")
    def every(self, cache):
        return miniwob(pages=tuple(PAGES), instances=180)

    def test_miniwob_keeps_the_world_contract(self, world):
        check_world(world, count=30)

    def test_the_expert_is_correct_on_every_page_and_an_empty_turn_is_not(self, every):
        tasks = every.tasks("train", 70, 0)
        assert {task.metadata["page"] for task in tasks} == set(PAGES)
        for task in tasks:
            one = play(every, task, every.expert)
            silent = play(every, task, lambda task, facts: Message("assistant", ""))
            assert every.correct(Group(task, (one, silent))).outcome.tolist() == [1, 0], task
            assert one.env["state"]["OpenPage"]["raw"] == 1 and one.ending.kind == "completed"
            assert one.turns[0].parsed.calls[0].arguments == every.reference(task)[0].arguments

    @pytest.fixture(scope="class")
    def long(self, cache):
        return miniwob(pages=tuple(LONG), instances=130, brief=True)

    def test_the_expert_meets_every_goal_of_every_long_page(self, long):
        tasks = long.tasks("train", 90, 0)
        assert {task.metadata["page"] for task in tasks} == set(LONG)
        assert [one.schema.name for one in long.tools] == ["click", "type"]
        for task in tasks:
            one = play(long, task, long.expert)
            assert one.ending.kind == "completed" and one.env["state"]["TypedPage"]["raw"] == 1, task
            met_CN = long.check(one, long.criteria(task))
            assert met_CN[:, -1].all() and not met_CN[-1, :-1].any()
            (made,), (wanted,) = one.turns[0].parsed.calls, long.reference(task)
            assert (made.name, made.arguments) == (wanted.name, wanted.arguments)

    def test_long_pages_take_eight_turns_and_more(self, cache):
        pages = ("click-checkboxes-large", "choose-date-nodelay", "book-flight-nodelay")
        world = miniwob(pages=pages, instances=60, brief=True)
        turns = [len(play(world, task, world.expert).turns) for task in world.tasks("train", 24, 0)]
        assert statistics.median(turns) >= 8

    def test_text_replaces_a_fields_value_and_only_fields_take_text(self, long):
        task = next(one for one in long.tasks("train", 90, 0) if one.metadata["page"] == "enter-text")
        env = opened(long, task)
        typed = [ToolCall("type", {"ref": ref, "text": text}, f"c{n}") for n, (ref, text) in enumerate(TYPED)]
        reply = env.step(ParsedTurn("", tuple(typed)), seed=0)
        assert [one.status for one in reply.replies] == ["ok", "ok", "retry"]
        assert [one.content for one in reply.replies] == [
            "input_text </a> <|end|> [1]",
            "input_text bo [1]",
            "element 2 is no field",
        ]
        env.close()

    def test_a_read_only_field_keeps_its_value(self, long):
        task = next(one for one in long.tasks("train", 90, 0) if one.metadata["page"] == "choose-date-nodelay")
        env = opened(long, task)
        reply = env.step(ParsedTurn("", (ToolCall("type", {"ref": 1, "text": "02/02/2016"}, "c"),)), seed=0)
        assert reply.replies[0].status == "ok" and "02/02/2016" not in reply.replies[0].content
        env.close()

    def test_an_incorrect_click_has_the_pages_negative_reward(self, world):
        task = next(one for one in world.tasks("train", 40, 0) if one.metadata["page"] == "click-tab")
        (right,) = (one.arguments["ref"] for one in world.reference(task))
        env = opened(world, task)
        reply = env.step(clicks(1 + right % 3, right), seed=0)
        assert reply.done and [one.status for one in reply.replies] == ["ok", "retry"]
        assert [one.content for one in reply.replies] == ["over, with reward -1", "the page is over"]
        assert env.report()["state"]["OpenPage"] == {"over": True, "raw": -1, "clicks": 1}
        env.close()

    def test_invalid_clicks_are_reported_and_neutral_clicks_continue(self, world):
        task = next(one for one in world.tasks("train", 40, 0) if one.metadata["page"] == "click-dialog-2")
        env = opened(world, task)
        ((message, *_), (schema,)) = env.start()
        reply = env.step(clicks(0, 5, "x", 2), seed=0)
        assert schema.name == "click" and message == task.messages[0]
        assert [one.status for one in reply.replies] == ["retry", "retry", "invalid", "ok"] and not reply.done
        assert reply.replies[0].content == "there is no element 0; there are 1 to 4"
        assert reply.replies[-1].content == message.content.partition("\n")[2]
        env.close()

    def test_a_branch_continues_from_the_snapshots_clicks(self, every):
        task = next(one for one in every.tasks("train", 70, 0) if one.metadata["page"] == "click-collapsible")
        trunk, branch = opened(every, task), opened(every, task)
        first = trunk.step(clicks(1), seed=0)
        assert not first.done and len(first.facts["elements"]) > len(task.metadata["elements"])
        branch.restore(trunk.snapshot())
        submit = next(n for n, one in enumerate(first.facts["elements"], start=1) if one[2] == "Submit")
        replies = [one.step(clicks(submit), seed=0) for one in (trunk, branch)]
        assert [(one.messages, one.facts, one.done) for one in replies] == [
            (replies[0].messages, replies[0].facts, True)
        ] * 2
        assert trunk.report() == branch.report() and branch.report()["state"]["OpenPage"]["raw"] == 1
        for env in (trunk, branch):
            env.close()

    def test_a_changed_page_ends_as_infra_error(self, world):
        task, other = world.tasks("train", 2, 0)
        wrong = Task(task.id, task.messages, None, None, {**task.metadata, "seed": 10**6})
        one = play(world, wrong, world.expert)
        assert one.ending.kind == "infra_error" and "delete the folder miniwob" in one.ending.reason
        assert play(world, other, world.expert).ending.kind == "completed"

    def test_tasks_are_equal_without_the_cache(self, world, tmp_path, monkeypatch):
        kept = world.tasks("test", 4, 5)
        monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
        assert miniwob(instances=160).tasks("test", 4, 5) == kept
        assert json.loads(json.dumps(dict(kept[0].metadata))) == kept[0].metadata

    def test_further_tools_are_offered(self, world):
        (task,) = world.tasks("train", 1, 0)
        for tools in ((calculator,), (*world.tools, calculator)):
            env = world.env(tools)(task)
            assert [one.name for one in env.start()[1]] == ["click", "calculator"]
            env.close()

    def test_invalid_arguments_raise(self, world):
        with pytest.raises(TaskError, match="empty"):
            world.tasks("train", 0, 0)
        for options in ({"pages": ()}, {"pages": ("click-pie",)}, {"pages": ("click-tab",) * 2}, {"instances": 7}):
            with pytest.raises(InputError, match="pages are some of click-button"):
                miniwob(**options)


VISION = Compact(TinyImageProcessor(8))


@pytest.mark.browser
@pytest.mark.slow
@needs_browser
class TestScreenshots:
    @pytest.fixture(scope="class", autouse=True)
    def cache(self, tmp_path_factory):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
            yield

    @pytest.fixture(scope="class")
    def pointed(self):
        return miniwob(pages=tuple(VISUAL), instances=150, seen="pixels", longest=40)

    def test_screenshots_keep_the_world_contract(self, pointed):
        check_world(pointed, count=20)

    def test_the_expert_is_correct_by_a_click_on_a_pixel(self, pointed):
        tasks = pointed.tasks("train", 30, 0)
        assert {task.metadata["page"] for task in tasks} == set(VISUAL)
        for task in tasks:
            one = play(pointed, task, pointed.expert, format=VISION)
            assert pointed.correct(Group(task, (one,))).outcome.tolist() == [1] and one.ending.kind == "completed"
            ((call, *_), (gold,)) = one.turns[0].parsed.calls, pointed.reference(task)
            left, top, right, bottom = task.metadata["box"]
            assert call.arguments == gold.arguments
            x, y = call_point(gold)
            assert left <= x <= right and top <= y <= bottom
            assert (task.messages[0].images[0].width, task.messages[0].images[0].height) == (40, 40)

    def test_a_click_beside_every_element_changes_nothing_and_shows_the_page_again(self, pointed):
        task = next(one for one in pointed.tasks("train", 30, 0) if one.metadata["page"] == "click-button-sequence")
        boxes = [one[4] for one in task.metadata["elements"]]
        free = next(
            (x, y)
            for x in range(40)
            for y in range(40)
            if not any(box[0] - 4 < 4 * x + 2 < box[2] + 4 and box[1] - 54 < 4 * y + 2 < box[3] - 46 for box in boxes)
        )
        env = opened(pointed, task)
        beside = {"point": f"{free[0]} {free[1]}"}
        reply = env.step(ParsedTurn("", (ToolCall("click", beside, "c0"),)), seed=0)
        assert not reply.done and reply.replies[0].images == task.messages[0].images
        gold = pointed.reference(task)[0].arguments
        reply = env.step(ParsedTurn("", (ToolCall("click", gold, "c1"),)), seed=0)
        assert not reply.done and reply.facts["clicked"] == ["ONE"] and len(reply.replies[0].images) == 1
        env.close()

    def test_marks_are_clicked_by_number_and_text_is_typed(self):
        pages = ("click-checkboxes", "enter-text")
        world = miniwob(pages=pages, instances=60, seen="marks")
        assert [one.schema.name for one in world.tools] == ["click", "type"]
        for task in world.tasks("train", 8, 0):
            one = play(world, task, world.expert, format=VISION_16)
            assert world.correct(Group(task, (one,))).outcome.tolist() == [1], task
            assert all(reply.images for reply in one.replies[:-1])
            assert task.messages[0].content == f"{task.metadata['query']}\n\ufffc"

    def test_no_screenshot_is_in_both_splits_and_tasks_are_equal_without_the_cache(
        self, pointed, tmp_path, monkeypatch
    ):
        shown = {split: {task.messages[0].images[0] for task in pointed.tasks(split, 60, 0)} for split in SPLITS}
        assert not shown["train"] & shown["test"]
        kept = pointed.tasks("test", 4, 5)
        monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
        assert miniwob(pages=tuple(VISUAL), instances=150, seen="pixels", longest=40).tasks("test", 4, 5) == kept

    def test_pages_and_views_that_do_not_fit_raise(self):
        for options, said in (
            ({"pages": ("click-test",)}, "pages are some of"),
            ({"pages": ("enter-text",), "seen": "pixels"}, "enter-text take text"),
            ({"seen": "marks", "longest": 200}, "16 to 160 pixels"),
        ):
            with pytest.raises(InputError, match=said):
                miniwob(**options)


SPLITS = ("train", "test")
VISION_16 = Compact(TinyImageProcessor(16))
TYPED = ((1, "</a> <|end|>"), (1, "bo"), (2, "bo"))


def play(world, task, speaker, format=Compact()):
    return demonstrate(world.env(world.tools), task, speaker, format=format, max_turns=20)


def opened(world, task):
    env = world.env(world.tools)(task)
    env.start()
    return env
