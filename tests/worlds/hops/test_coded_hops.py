import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.hops.coded_hops import case_line, coded_hops, searched_path, with_cases
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def shown(world, split, count):
    for task in world.tasks(split, count, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), context=512)
        yield task, one, world.correct(Group(task, (one,))).outcome[0]


@pytest.mark.parametrize("options", [{}, {"fresh": True, "plain": 0.3}])
def test_coded_hops_keeps_the_world_contract(options):
    check_world(coded_hops(size=40, **options))


def test_the_expert_searches_the_chain_of_the_code_and_names_it_first():
    for split in ("train", "test"):
        for task, one, right in shown(coded_hops(size=60), split, 40):
            path = task.metadata["path"]
            assert right == 1 and searched_path(one) == tuple(path) and len(path) in (1, 2)
            assert one.turns[0].parsed.text == " ".join([f"{task.metadata['code']}:", *path])


def test_a_code_has_one_meaning_in_both_splits_unless_it_is_fresh():
    def meanings(world):
        pairs = {
            (task.metadata["code"], tuple(task.metadata["path"]))
            for split in ("train", "test")
            for task in world.tasks(split, 120, 0)
        }
        return len({code for code, _ in pairs}), len(pairs)

    assert meanings(coded_hops(codes=6, size=60)) == (6, 6)
    codes, pairs = meanings(coded_hops(codes=6, size=60, fresh=True))
    assert codes == 26 and pairs > 60


def test_a_shown_code_has_a_successful_case_and_an_absent_one_has_none():
    for absent in (0.0, 1.0):
        for task, _, right in shown(coded_hops(size=60, absent=absent, fresh=True), "train", 40):
            *cases, question = task.messages[-1].content.split("\n")
            own = [line for line in cases if f" {task.metadata['code']}: " in line and line.startswith("+")]
            assert question.endswith(f" {task.metadata['code']}?") and len(cases) <= 4
            assert bool(own) == task.metadata["known"] == (absent == 0)
            assert right == 1 or absent == 1
            assert all(line.split()[3:] == task.metadata["path"] for line in own)


def test_plain_questions_name_their_relations():
    plain = [task for task, _, right in shown(coded_hops(size=60, plain=1.0), "train", 20) if right == 1]
    assert len(plain) == 20 and {task.metadata["code"] for task in plain} == {"plain"}


def test_cases_stand_before_the_question():
    task = coded_hops(size=40, shown=0).tasks("test", 1, 0)[0]
    assert "\n" not in task.messages[-1].content
    line = case_line("2320 K?", ("boss", "ally"), 1.0)
    assert line == "+ 2320 K: boss ally" and case_line("2320 K?", (), 0.0) == "- 2320 K:"
    assert with_cases(task, [line]).messages[-1].content == f"{line}\n{task.messages[-1].content}"


@pytest.mark.parametrize("options", [{"codes": 1}, {"shown": 9}, {"absent": 2}, {"plain": -1}])
def test_arguments_out_of_range_are_refused(options):
    with pytest.raises(InputError, match="coded_hops|shares"):
        coded_hops(**options)
