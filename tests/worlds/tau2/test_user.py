"""Scripted user of tau2, and its parser of messages."""

import random
import re

import pytest

pytest.importorskip("tau2")

from handaxe.core.errors import InputError
from handaxe.worlds.tau2.domains import package
from handaxe.worlds.tau2.phone import ACTIONS, PHRASES, PhoneAction, is_solved, requested_actions, short
from handaxe.worlds.tau2.state import ServiceState, gold_actions, kit_tools
from handaxe.worlds.tau2.user import (
    MANNERS,
    OUT_OF_SCOPE,
    STOP,
    TRANSFER,
    WORRIES,
    Customer,
    ended,
    first_person,
    manner,
    rule,
)

AIR = "[service_issue]airplane_mode_on[PERSONA:None]"


class Talk:
    """The user of a task, without an agent."""

    def __init__(self, domain, scenario, persona="static", seed=0):
        self.raw = package(domain).raw[scenario]
        self.state, self.manner = ServiceState(domain, scenario), MANNERS[persona]
        self.rng = random.Random(seed)
        opening = first_person(self.raw["user_scenario"]["instructions"]["reason_for_call"])
        self.user = Customer("", opening, (), lambda call: self.state.call("user", call.name, call.arguments))

    def says(self, text):
        self.user.hear(text)
        answer = None
        while answer is None:
            answer = self.user.act(rule(self.user.view, self.raw, self.manner, self.rng))
        return answer


def test_the_user_does_a_named_action_and_ends_when_solved():
    talk = Talk("telecom", AIR)
    assert talk.says("What is your name?") == "I am John Smith with phone number 555-123-2002."
    assert "one thing at a time" in talk.says("Reboot the phone and run a speed test.")
    assert talk.says("Please reboot your phone.").startswith("Restarting network services...")
    assert "Airplane Mode" in talk.says("What does the status bar show?")
    assert ended(talk.says("Turn off airplane mode, please.")) == STOP
    assert [one.name for one in talk.state.calls][-2:] == ["toggle_airplane_mode", "check_status_bar"]


def test_a_transferred_user_ends_the_conversation():
    assert Talk("telecom", AIR).says("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.") == TRANSFER
    assert Talk("retail", "3").says("You are being transferred to a human agent.") == TRANSFER


def test_the_user_gives_up_without_requests():
    talk = Talk("telecom", AIR)
    answers = [talk.says("Hm.") for _ in range(4)]
    assert [ended(one) for one in answers] == ["", "", "", OUT_OF_SCOPE]
    assert all("Airplane Mode" in one for one in answers[:3])


@pytest.mark.parametrize("persona", ["plain", "easy", "hard"])
def test_the_rate_of_balking_is_the_personas(persona):
    balked = [Talk("telecom", AIR, persona, seed).says("reboot_device").count("Restarting") == 0 for seed in range(300)]
    assert abs(sum(balked) / 300 - MANNERS[persona].balks) < 0.1
    talks = [[Talk("telecom", AIR, persona, seed).says("reboot_device") for _ in range(2)] for seed in range(20)]
    assert all(one == other for one, other in talks)


def test_a_repeated_request_is_fulfilled():
    balked = 0
    for seed in range(60):
        talk = Talk("telecom", AIR, "hard", seed)
        first = talk.says("toggle_airplane_mode")
        done = [one.name for one in talk.state.calls].count("toggle_airplane_mode")
        if ended(first) == STOP:
            assert done == 1
            continue
        balked += 1
        assert done == 0 and any(worry in first for worry in WORRIES)
        assert ended(talk.says("toggle_airplane_mode")) == STOP
        assert [one.name for one in talk.state.calls].count("toggle_airplane_mode") == 1
    assert 20 < balked < 40


def test_a_shoppers_words_come_from_the_scenario():
    """Every reply consists of the scenario's letters and digits, except for agreements and last words."""
    for domain in ("retail", "airline"):
        for scenario in list(package(domain).raw)[::7]:
            talk, said = Talk(domain, scenario), []
            for text in ("Who are you?", "I see.", "Shall I proceed (yes/no)?", "And?", "It is done.", "Bye.", "Bye."):
                said.append(talk.says(text))
                if ended(said[-1]):
                    break
            assert "Yes." in said or len(said) < 3
            told = talk.raw["user_scenario"]["instructions"].values()
            known = set(re.findall(r"\w+", " ".join(filter(None, told)).lower()))
            mine = set(re.findall(r"\w+", " ".join(said).lower())) - {"i", "am", "my", "was", "mine", "myself", "yes"}
            assert mine - known <= set(re.findall(r"\w+", f"i have told you all know {STOP}{OUT_OF_SCOPE}".lower()))


def test_first_person_converts_the_scenario():
    assert first_person("You are Ann, and your zip is 1.") == "I am Ann, and my zip is 1."


def test_every_phone_tool_can_be_requested_by_name():
    names = {one.schema.name for one in kit_tools("telecom")["user"]} - {"set_apn_settings"}
    assert {tool for tool, _ in PHRASES} == names
    for tool in names:
        assert [one.tool for one in requested_actions(f"Please do {tool}.")] == [tool]
    for words in ACTIONS:
        assert len(requested_actions(words)) == 1


def test_reference_calls_of_the_user_survive_their_wording():
    world = {}
    for scenario in package("telecom").raw:
        for one in gold_actions("telecom", scenario):
            if one.side == "user":
                world[one.name, str(one.arguments)] = one
    for one in world.values():
        told = "".join(f", {key} {value}" for key, value in one.arguments.items())
        assert requested_actions(f"Please do this: {one.name}{told}") == [PhoneAction(one.name, one.arguments)]


@pytest.mark.parametrize(
    "text, tool",
    [
        ("Please turn off airplane mode.", "toggle_airplane_mode"),
        ("Could you take out your SIM and put it back?", "reseat_sim_card"),
        ("Reset the APN settings", "reset_apn_settings"),
        ("Grant the messaging app the storage permission", "grant_app_permission"),
        ("Turn on mobile data", "toggle_data"),
        ("Disable data saver", "toggle_data_saver_mode"),
        ("Disconnect your VPN", "disconnect_vpn"),
        ("Try to send an MMS", "can_send_mms"),
    ],
)
def test_requested_actions_parses_phrases(text, tool):
    assert [one.tool for one in requested_actions(text)] == [tool]
    assert requested_actions("Hello there") == []


def test_user_helpers_shorten_replies_detect_solutions_and_reject_unknown_users():
    assert short("Mobile Data is now ON.\nStatus Bar: ...") == "Mobile Data is now ON."
    assert is_solved("can_send_mms", "Your messaging app can send MMS messages.")
    assert not is_solved("can_send_mms", "Your messaging app cannot send MMS messages.")
    with pytest.raises(InputError, match="no user 'rude'"):
        manner("rude")
