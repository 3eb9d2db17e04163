import json

import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, Scores
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.tools import tool
from handaxe.worlds.jsonl import jsonl
from handaxe.worlds.parts.demonstrate import demonstrate

QUESTIONS = [{"question": f"double {k}?", "answer": 2 * k, "size": len(str(k))} for k in range(100)]


@tool
def double(number: int) -> str:
    """Double a number."""
    return str(2 * number)


def double_expert(task, facts):
    """Expert of a user."""
    return Message("assistant", str(task.answer))


def wrong_expert(task, facts):
    return str(task.answer)


@pytest.fixture
def write(tmp_path):
    def write(lines, name="doubles.jsonl"):
        file = tmp_path / name
        file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
        return str(file)

    return write


def shown(lines):
    return [{**line, "calls": [{"name": "double", "arguments": {"number": line["answer"] // 2}}]} for line in lines]


def test_calls_in_the_file_define_the_expert(write):
    world = jsonl(file=write(shown(QUESTIONS)), score="numeric_match", breakdown=("size",))
    check_world(world, tools=[double], count=20)
    task = world.tasks("train", 1, 0)[0]
    one = demonstrate(world.env([double]), task, world.expert, format=Compact())
    assert one.calls[0].name == "double" and one.replies[0].content == one.final_text == str(task.answer)
    assert world.reference(task)[0].arguments == one.calls[0].arguments
    assert world.breakdown == ("size",) and task.metadata["size"] in (1, 2) and world.start is not None


def test_a_users_expert_is_used_and_checked(write):
    world = jsonl(file=write(QUESTIONS), score="numeric_match", expert=f"{__name__}:double_expert")
    check_world(world, count=10)
    wrong = jsonl(file=write(QUESTIONS), score="numeric_match", expert=f"{__name__}:wrong_expert")
    with pytest.raises(InputError, match="wrong_expert returned '.*' for task .*: return Message"):
        check_world(wrong, count=10)


def test_without_calls_and_expert_there_is_no_start(write):
    world = jsonl(file=write(QUESTIONS), score="numeric_match")
    assert world.expert is None and world.start is None and world.reference is None


def test_the_split_of_a_question_is_constant(write):
    both = jsonl(file=write(QUESTIONS), score="numeric_match")
    half = jsonl(file=write(QUESTIONS[::-2]), score="numeric_match")
    sides = {task.id: split for split in ("train", "test") for task in both.tasks(split, 1000, 0)}
    assert len(sides) == 100 and 10 <= list(sides.values()).count("test") <= 30
    for split in ("train", "test"):
        assert {sides[task.id] for task in half.tasks(split, 1000, 7)} == {split}


def test_seed_determines_order_and_count_limits(write):
    world = jsonl(file=write(QUESTIONS), score="numeric_match")
    ids = [task.id for task in world.tasks("train", 1000, 0)]
    assert ids == [task.id for task in world.tasks("train", 10**6, 0)] and len(set(ids)) == len(ids)
    assert ids[:5] == [task.id for task in world.tasks("train", 5, 0)]
    assert sorted(ids) == sorted(task.id for task in world.tasks("train", 1000, 1)) and ids != world.tasks(
        "train", 1000, 1
    )
    with pytest.raises(TaskError, match="0 tasks is empty"):
        world.tasks("train", 0, 0)


def test_other_keys_become_metadata_and_tables_are_read(write):
    lines = ["q,a,tools", *(f'double {k}?,{2 * k},"[""double""]"' for k in range(60))]
    world = jsonl(file=write(lines, "doubles.csv"), question="q", answer="a", score="numeric_match")
    task = world.tasks("train", 1, 0)[0]
    assert task.tools == ("double",) and task.answer.isdigit()


def test_scores_by_name_and_by_attribute(write):
    file = write(QUESTIONS)
    for score in ("exact_match", "numeric_match", "token_f1", "handaxe.worlds.calls:correct_of_none"):
        if ":" in score:
            with pytest.raises(InputError, match="there is no reward"):
                jsonl(file=file, score=score)
            continue
        world = jsonl(file=file, score=score)
        task = world.tasks("test", 1, 0)[0]
        one = demonstrate(world.env(()), task, double_expert, format=Compact())
        assert world.correct(Group(task, (one,))).outcome[0] == 1
    assert jsonl(file=file, score=f"{__name__}:own_score").correct is own_score


def own_score(group):
    """Reward of a user."""
    return Scores([0.0] * len(group))


@pytest.mark.parametrize(
    "line, message",
    [
        ({"question": "a?"}, r"line 101 has no 'answer', only \['question'\]"),
        ({"question": "", "answer": 1}, "line 101: the question is ''; give text"),
        ({"question": "a?", "answer": None}, "line 101: the answer is None; give text, a number, or a list"),
        ({"question": "a?", "answer": True}, "line 101: the answer is True"),
        ({"question": "a?", "answer": []}, r"line 101: the answer is \[\]"),
        ('{"question": "a?", "answer": NaN}', "line 101: the answer is nan"),
        ({"question": "a?", "answer": "soon"}, "line 101: numeric_match cannot read the answer 'soon'"),
        ({"question": "a?", "answer": 1, "tools": "double"}, "line 101: tools is 'double'; give a list of names"),
        ({"question": "a?", "answer": 1, "calls": [{"tool": "f"}]}, "line 101: calls is .*; give"),
        ({"question": "a \ud83d?", "answer": 1}, "line 101 holds half a character"),
        ({"question": "a?", "answer": "\ude00"}, "line 101 holds half a character"),
        ({"question": "a?", "answer": 1, "hint": [{"\udc00": 1}]}, "line 101 holds half a character"),
        (QUESTIONS[3], "line 101 repeats the question of doubles.jsonl, line 4: 'double 3"),
    ],
)
def test_a_bad_line_raises_with_its_place(write, line, message):
    with pytest.raises(TaskError, match=message):
        jsonl(file=write([*QUESTIONS, line]), score="numeric_match")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"test_share": 0.0}, "test_share is 0.0; give a share above 0 and below 1"),
        ({"score": "numeric_mach"}, "there is no reward 'numeric_mach'; did you mean numeric_match"),
        ({"score": "answer_score"}, r"the reward 'answer_score' needs arguments \(scorer\)"),
        ({"score": f"{__name__}:QUESTIONS"}, "no reward: give a function of a group"),
        ({"score": f"{__name__}:double_expert"}, r"double_expert takes \(task, facts\), and is called with \(group\)"),
        ({"expert": f"{__name__}:nothing"}, "there is no expert"),
        ({"expert": f"{__name__}:QUESTIONS"}, "give a function of task and facts that returns a message"),
        ({"expert": f"{__name__}:shown"}, r"shown takes \(lines\), and is called with \(task, facts\)"),
    ],
)
def test_a_bad_argument_raises_with_its_name(write, arguments, message):
    with pytest.raises(InputError, match=message):
        jsonl(file=write(QUESTIONS), **{"score": "numeric_match", **arguments})


def test_an_empty_split_raises(write):
    with pytest.raises(TaskError, match="none of the 2 questions of .* falls to 'test'"):
        jsonl(file=write(QUESTIONS[:2]), score="numeric_match", test_share=0.0001)


def chat(number):
    """A conversation with a call in its history."""
    call = {"id": "c1", "type": "function", "function": {"name": "double", "arguments": json.dumps({"number": number})}}
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"double {number}?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": str(2 * number), "tool_call_id": "c1"},
        {"role": "assistant", "content": str(2 * number)},
        {"role": "user", "content": "and again?"},
    ]


def test_conversations_and_questions_share_a_file(write):
    lines = [{"messages": chat(k), "answer": 4 * k} for k in range(30)]
    world = jsonl(file=write([*QUESTIONS, *lines]), score="numeric_match")
    tasks = [*world.tasks("train", 1000, 0), *world.tasks("test", 1000, 0)]
    chats = [task for task in tasks if len(task.messages) > 1]
    assert len(tasks) == 130 and len(chats) == 30
    roles = [message.role for message in chats[0].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "messages" not in chats[0].metadata
    one = demonstrate(world.env([double]), chats[0], double_expert, format=Compact())
    assert world.correct(Group(chats[0], (one,))).outcome[0] == 1
    assert one.messages[: len(roles)] == chats[0].messages


def test_a_conversation_of_one_question_equals_the_question(write):
    lines = [*QUESTIONS, {"messages": [{"role": "user", "content": "double 3?"}], "answer": 6}]
    with pytest.raises(TaskError, match=r"line 101 repeats the question of doubles.jsonl, line 4"):
        jsonl(file=write(lines), score="numeric_match")


def test_all_bad_lines_are_listed_together(write):
    bad = [{"question": "a?"}, "no json", {"question": "b?", "answer": "soon"}, {"messages": [], "answer": 1}]
    with pytest.raises(TaskError) as found:
        jsonl(file=write([*QUESTIONS, *bad, *QUESTIONS[:30]]), score="numeric_match")
    first, *rest = str(found.value).split("\n")
    assert first == "doubles.jsonl has 34 bad rows:" and len(rest) == 21 and rest[20] == "  and 14 more"
    assert [line.partition(" has")[0].strip()[:25] for line in rest[:1]] == ["doubles.jsonl, line 101"]
    assert "line 102 is not JSON" in rest[1] and "line 103: numeric_match cannot read" in rest[2]
    assert "line 104: messages is []" in rest[3] and "line 105 repeats the question" in rest[4]


@pytest.mark.parametrize("weight", [0, -1, "many", True, float("inf")])
def test_a_bad_weight_raises_with_its_place(write, weight):
    lines = [*QUESTIONS, {"question": "a?", "answer": 1, "weight": weight}]
    with pytest.raises(TaskError, match="line 101: the weight is .*; give a number above 0"):
        jsonl(file=write(lines), score="numeric_match")


def test_weights_set_the_frequency_of_lines_in_training(write):
    lines = [{**line, "weight": 3 if k % 2 else 1} for k, line in enumerate(QUESTIONS)]
    world = jsonl(file=write(lines), score="numeric_match")
    tasks = world.tasks("train", 1000, 0)
    drawn = world.curriculum(tasks, 0).next(0, 4 * len(tasks))
    heavy = sum(task.metadata["weight"] == 3 for task in tasks)
    share = 3 * heavy / (3 * heavy + len(tasks) - heavy)
    assert abs(sum(task.metadata["weight"] == 3 for task in drawn) / len(drawn) - share) < 0.05
    assert jsonl(file=write(QUESTIONS), score="numeric_match").curriculum is None


def test_keys_may_be_paths(write):
    lines = [{"extra": {"prompt": f"{k}?"}, "reward_model": {"ground_truth": str(k)}} for k in range(60)]
    world = jsonl(file=write(lines), question="extra.prompt", answer="reward_model.ground_truth")
    assert {task.answer for task in world.tasks("train", 100, 0)} <= {str(k) for k in range(60)}


@pytest.fixture
def photos(tmp_path):
    """A folder of images beside a CSV file that names them."""
    (tmp_path / "photos").mkdir()
    for k in range(30):
        (tmp_path / "photos" / f"{k}.png").write_bytes(noise(k).data)
    return tmp_path


def photo_lines(column="file", count=30):
    return [f"{column},question,answer", *(f"photos/{k}.png,Which number?,{k}" for k in range(count))]


def test_a_folder_of_images_with_a_csv_is_a_world(photos, write):
    world = jsonl(file=write(photo_lines(), "photos.csv"), image="file", score="numeric_match")
    train, test = (world.tasks(split, 100, 0) for split in ("train", "test"))
    assert len(train) + len(test) == 30 and len({task.id for task in train + test}) == 30
    task = train[0]
    assert task.messages[0] == Message.of("user", noise(int(task.answer)), "Which number?") and task.metadata == {}
    assert world.images == {"file": tuple(f"photos/{k}.png" for k in range(30))}
    check_world(world, count=5)


def test_questions_about_one_image_are_in_one_split(photos, write):
    """Trap 23."""
    lines = [{"image": f"photos/{k}.png", "question": f"{q}?", "answer": q} for k in range(30) for q in range(3)]
    world = jsonl(file=write(lines), score="numeric_match")
    train, test = ({one.messages[0].images[0] for one in world.tasks(split, 99, 0)} for split in ("train", "test"))
    assert len(train) + len(test) == 30 and not train & test


def test_columns_image_and_images_are_read_and_no_column_on_request(photos, write):
    lines = [
        {"images": ["photos/0.png", "photos/1.png"], "question": "<image> or <image>?", "answer": 1},
        {"image": "photos/2.png", "question": "b?", "answer": 1},
        {"question": "c?", "answer": 1},
        *QUESTIONS,
    ]
    found = {task.messages[0].content: task for task in both(jsonl(file=write(lines), score="numeric_match"))}
    assert found["\ufffc or \ufffc?"].messages[0].images == (noise(0), noise(1))
    assert found["\ufffcb?"].messages[0].images == (noise(2),) and found["c?"].messages[0].images == ()
    texts = {task.messages[0].content: task for task in both(jsonl(file=write(lines), image="", score="numeric_match"))}
    assert texts["b?"].metadata == {"image": "photos/2.png"}
    with pytest.raises(TaskError, match="no row of doubles.jsonl has the column 'photo' of images"):
        jsonl(file=write(lines), image="photo", score="numeric_match")


def both(world):
    return [task for split in ("train", "test") for task in world.tasks(split, 1000, 0)]


def test_a_csv_cell_may_list_images(photos, write):
    lines = ["images,question,answer", *(f'"[""photos/{k}.png"", ""photos/0.png""]",Which?,{k}' for k in range(1, 30))]
    found = both(jsonl(file=write(lines, "photos.csv"), score="numeric_match"))
    assert all(task.messages[0].images[1] == noise(0) for task in found) and len(found) == 29


def test_several_columns_of_images_are_shown_in_the_order_of_their_names(photos, write):
    lines = ["after,before,question,answer", *(f"photos/{k}.png,photos/{k + 1}.png,Which?,{k}" for k in range(20))]
    file = write(lines, "photos.csv")
    found = {task.answer: task for task in both(jsonl(file=file, image="before, after", score="numeric_match"))}
    assert found["7"].messages == (Message.of("user", noise(8), noise(7), "Which?"),) and found["7"].metadata == {}
    (one,) = {task.metadata["before"] for task in both(jsonl(file=file, image="after")) if task.answer == "3"}
    assert one == "photos/4.png", "a column that is not named stays text"
    with pytest.raises(TaskError, match="no row of photos.csv has the column 'mask' of images"):
        jsonl(file=file, image="before,mask", score="numeric_match")


def test_missing_and_unreadable_images_are_listed_together_with_their_lines(photos, write):
    (photos / "photos" / "3.png").write_bytes(noise(3).data[:90])
    (photos / "photos" / "4.png").write_bytes(b"GIF89a")
    (photos / "photos" / "5.png").unlink()
    lines = [*photo_lines(), "http://example.org/a.png,Which number?,1"]
    with pytest.raises(TaskError) as caught:
        jsonl(file=write(lines, "photos.csv"), image="file", score="numeric_match")
    first, *rows = str(caught.value).splitlines()
    assert first == "photos.csv has 4 bad rows:"
    wanted = [("line 5", "truncated"), ("line 6", "not an image"), ("line 7", "no image"), ("line 32", "nothing is")]
    assert all(line in row and what in row for (line, what), row in zip(wanted, rows, strict=True)), rows


def test_messages_with_image_parts_are_read(photos, write):
    parts = [{"type": "image"}, {"type": "text", "text": "Which?"}]
    asked = [{"role": "user", "content": parts}]
    lines = [{"messages": asked, "images": [f"photos/{k}.png"], "answer": k} for k in range(20)]
    named = [{"type": "text", "text": "Which?"}, {"type": "image", "image": "photos/29.png"}]
    lines.append({"messages": [{"role": "user", "content": named}], "answer": 29})
    found = {task.answer: task for task in both(jsonl(file=write(lines), score="numeric_match"))}
    assert found[7].messages == (Message.of("user", noise(7), "Which?"),)
    assert found[29].messages == (Message.of("user", "Which?", noise(29)),)


def test_images_of_a_saved_data_set_are_read(photos):
    datasets = pytest.importorskip("datasets")
    cells = [{"bytes": noise(k).data, "path": None} for k in range(20)]
    rows = [{"image": cell, "question": "Which?", "answer": str(k)} for k, cell in enumerate(cells)]
    features = datasets.Features(
        {"image": datasets.Image(), "question": datasets.Value("string"), "answer": datasets.Value("string")}
    )
    made = datasets.Dataset.from_list(rows, features=features)
    made.save_to_disk(str(photos / "saved"))
    made.to_parquet(str(photos / "saved.parquet"))
    for name in ("saved", "saved.parquet"):
        world = jsonl(file=str(photos / name), score="numeric_match")
        found = {task.answer: task for task in both(world)}
        assert found["3"].messages == (Message.of("user", noise(3), "Which?"),) and world.images == {}
