"""Actions of the user's phone in tau2, requests for actions, and the user's test for a solved problem."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "ACTIONS",
    "CHECK",
    "PhoneAction",
    "STATUS",
    "TRANSFER_NOTICE",
    "action_name",
    "diagnostic_tool",
    "is_solved",
    "requested_actions",
    "short",
]

CHECK = "check_phone"
"""The single look at the phone in brief worlds."""
TRANSFER_NOTICE = re.compile(r"transferred to a human|transferring you", re.IGNORECASE)
"""Text by which a user recognizes a transfer."""


class PhoneAction(NamedTuple):
    """Tool of the phone with its arguments."""

    tool: str
    arguments: Mapping[str, Any]


MODES = ("4g_5g_preferred", "4g_only", "3g_only", "2g_only")
APPS = ("messaging", "browser")
PHRASES: tuple[tuple[str, str], ...] = (
    ("check_status_bar", r"status bar"),
    ("check_network_status", r"network status"),
    ("check_sim_status", r"sim (card )?status|(check|look at) (the|your) sim"),
    ("reseat_sim_card", r"re-?seat|re-?insert|take out (the|your) sim|remove (the|your) sim"),
    ("toggle_airplane_mode", r"(airplane|flight) mode"),
    ("check_network_mode_preference", r"(check|what is|which) .{0,12}network mode"),
    ("set_network_mode_preference", r"(set|change|switch) .{0,20}network (mode|preference|type)"),
    ("run_speed_test", r"speed test"),
    ("check_data_restriction_status", r"(check|is) .{0,12}data (restriction|saver)"),
    ("toggle_data_saver_mode", r"data saver"),
    ("toggle_roaming", r"roaming"),
    ("toggle_data", r"(mobile|cellular) data|turn (on|off) data|data (on|off)"),
    ("check_apn_settings", r"(check|what are) .{0,12}apn"),
    ("reset_apn_settings", r"apn"),
    ("check_wifi_calling_status", r"(check|is) .{0,12}wi-?fi calling"),
    ("toggle_wifi_calling", r"wi-?fi calling"),
    ("check_wifi_status", r"(check|is) .{0,12}wi-?fi"),
    ("toggle_wifi", r"wi-?fi"),
    ("check_vpn_status", r"(check|is) .{0,12}vpn"),
    ("disconnect_vpn", r"(disconnect|turn off|disable|stop) .{0,12}vpn"),
    ("connect_vpn", r"vpn"),
    ("check_installed_apps", r"installed apps|which apps"),
    ("check_app_permissions", r"(check|which|what) .{0,20}permission"),
    ("grant_app_permission", r"permission"),
    ("check_app_status", r"app status|status of the .{0,12}app"),
    ("can_send_mms", r"(send|try|test) .{0,12}(mms|picture)"),
    ("reboot_device", r"reboot|re-?start|power cycle|turn .{0,14}off and on"),
    ("check_payment_request", r"(check|received|see) .{0,16}payment request"),
    ("make_payment", r"make .{0,8}payment|pay\b"),
)
"""Tools of the phone and phrases that request each; earlier entries consume their words."""
ACTIONS = (
    "toggle_airplane_mode",
    "reseat_sim_card",
    "reset_apn_settings",
    "reboot_device",
    "toggle_data",
    "toggle_roaming",
    "toggle_data_saver_mode",
    "set_network_mode_preference",
    "disconnect_vpn",
    "toggle_wifi_calling",
    "grant_app_permission sms",
    "grant_app_permission storage",
)
"""Actions of brief worlds; each is a tool and its arguments."""


def action_name(tool: str, arguments: Mapping[str, Any]) -> str:
    """Name of a call in brief worlds: the tool, and the permission if one is granted."""
    return f"{tool} {arguments['permission']}" if tool == "grant_app_permission" else tool


def requested_actions(text: str) -> list[PhoneAction]:
    """Parse the requested tools of a message, without repetition: by tool names, or else by phrases.

    Example:
        requested_actions("Please reboot your phone.") is [PhoneAction("reboot_device", {})]
    """
    text = text.lower()
    exact = [tool for tool, _ in (*PHRASES, (CHECK, "")) if re.search(rf"\b{tool}\b", text)]
    if exact:
        return [PhoneAction(tool, _arguments(tool, text)) for tool in exact]
    found: list[PhoneAction] = []
    for tool, pattern in PHRASES:
        text, times = re.subn(pattern, " ", text) if tool != "grant_app_permission" else _kept(pattern, text)
        if times:
            found.append(PhoneAction(tool, _arguments(tool, text)))
    return found


def _kept(pattern: str, text: str) -> tuple[str, int]:
    return text, len(re.findall(pattern, text))


def _arguments(tool: str, text: str) -> dict[str, Any]:
    if tool == "set_network_mode_preference":
        return {"mode": next((mode for mode in MODES if mode in text), MODES[0])}
    app = next((app for app in APPS if app in text), APPS[0])
    if tool == "grant_app_permission":
        return {"app_name": app, "permission": "storage" if "storage" in text else "sms"}
    return {"app_name": app} if tool in ("check_app_permissions", "check_app_status") else {}


def diagnostic_tool(scenario: str) -> str:
    """Return the tool for checking the problem of a scenario [kind]... ."""
    looks = {"service_issue": "check_status_bar", "mobile_data_issue": "run_speed_test", "mms_issue": "can_send_mms"}
    return looks[scenario[1:].partition("]")[0]]


def is_solved(look: str, reply: str) -> bool:
    """Check whether the phone's reply shows the solved problem."""
    if look == "check_status_bar":
        return "No Signal" not in reply and "Airplane Mode" not in reply
    return "(Excellent)" in reply if look == "run_speed_test" else " can send MMS" in reply


STATUS = (
    ("air", lambda phone: _on(phone.airplane_mode)),
    ("sim", lambda phone: "no" if phone.sim_card_missing else "ok"),
    ("apn", lambda phone: "bad" if phone.active_apn_settings.apn_name.value == "broken" else "ok"),
    ("mmsc", lambda phone: "ok" if phone.active_apn_settings.mmsc_url else "no"),
    ("data", lambda phone: _on(phone.data_enabled)),
    ("roam", lambda phone: _on(phone.roaming_enabled)),
    ("save", lambda phone: _on(phone.data_saver_mode)),
    ("net", lambda phone: phone.network_mode_preference.value[:2]),
    ("vpn", lambda phone: _on(phone.vpn_connected)),
    ("wcall", lambda phone: _on(phone.wifi_calling_enabled)),
    ("sms", lambda phone: _on(phone.app_statuses["messaging"].permissions.sms)),
    ("stor", lambda phone: _on(phone.app_statuses["messaging"].permissions.storage)),
)
"""Fields of `check_phone`: a word each, and its reader."""


def _on(value: bool) -> str:
    return "on" if value else "off"


def short(reply: str) -> str:
    """Return the first sentence of a reply.

    Example:
        short("Mobile Data is now ON.\\nStatus Bar: ...") is "Mobile Data is now ON."
    """
    line = reply.split("\n", 1)[0]
    return re.split(r"(?<=[a-zA-Z])\. ", line, maxsplit=1)[0][:48]
