from handaxe.worlds.scienceworld.brief_texts import brief_reply, brief_task, brief_view, room_things
from handaxe.worlds.scienceworld.simulator_process import SceneState

HALLWAY = (
    "This room is called the hallway. In it, you see: \n\tthe agent\n\ta substance called air\n\ta picture\n"
    "You also see:\n\tA door to the kitchen (that is open)\n\tA door to the workshop (that is closed)"
)
GREENHOUSE = (
    "This room is called the greenhouse. In it, you see: \n\tthe agent\n\ta bee hive. The bee hive door is closed. \n"
    "\ta flower pot 2 (containing a apple tree in the adult stage, soil)\n\ta flower pot 3 (containing nothing)\n"
    "\ta sink, which is turned off. In the sink is: nothing.\n\ta substance called soap\n"
    "\ta table. On the table is: a battery, a red light bulb, which is off, a bowl (containing an apple, a potato).\n"
    "\ta bed. On the bed is: a mattress. On the mattress is: a white pillow..\n"
    "\ta book shelf (containing A book (Emma) titled Emma by Jane Austen, A book (It) titled It by Stephen King)\n"
    "You also see:\n\tA door to the hallway (that is open)"
)


def state(text="", look=HALLWAY, score=0, over=False):
    return SceneState(text, look, score, over, ())


def test_a_search_names_target_and_box():
    text = (
        "Task Description:\nYour task is to find a(n) non-living thing. First, focus on the thing. Then, move it to "
        "the red box in the living room."
    )
    assert brief_task(text) == "find non-living thing, red box in living room"


def test_other_tasks_keep_their_first_sentence():
    power = (
        "Your task is to turn on the red light bulb by powering it using a renewable power source. First, focus on it."
    )
    assert brief_task(power) == "turn on red light bulb by a renewable power source"
    life = "Your task is to find the animal with the longest life span.  The animals are in the 'outside' location."
    assert brief_task(life) == "find animal with longest life span"


def test_a_view_lists_things_and_doors():
    assert brief_view(HALLWAY) == "hallway: picture; kitchen, workshop (closed)"


def test_contents_have_names_only_and_empty_containers_none():
    assert room_things(GREENHOUSE) == [
        "bee hive",
        "flower pot 2 (apple tree)",
        "flower pot 3",
        "sink",
        "soap",
        "table (battery, red light bulb, bowl)",
        "bed (mattress)",
        "book shelf (book)",
    ]


def test_a_known_room_is_named_only():
    before, after = state(look=GREENHOUSE), state("You move to the hallway.")
    assert brief_reply(after, before, "go to hallway", set()) == brief_view(HALLWAY)
    assert brief_reply(after, before, "go to hallway", {brief_view(HALLWAY)}) == "hallway"
    assert brief_reply(after, after, "look around", {brief_view(HALLWAY)}) == brief_view(HALLWAY)


def test_replies_are_short_and_ends_are_words():
    assert (
        brief_reply(state("You focus on the apple tree."), state(), "focus on apple tree", ()) == "focus on apple tree"
    )
    assert len(brief_reply(state("x" * 500), state(), "read", ())) == 60
    assert brief_reply(state(score=100, over=True), state(), "wait1", ()) == "done"
    assert brief_reply(state(score=-100, over=True), state(), "focus on air", ()) == "lost"
