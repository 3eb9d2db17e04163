import json

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.sandbox.command import SandboxSpec, bubblewrap_command, find_bubblewrap, host_user_id
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.mounts import Mounts

LAYOUT = Mounts(
    "/opt/py/bin/python3",
    (("usr/lib", "/lib"),),
    (("/opt/py/lib", "/opt/py/lib"), ("/a/b", "/packages/b")),
    ("/opt/py/lib/x",),
)


def make_words(as_root):
    spec = SandboxSpec(LAYOUT, Limits(disk=12345), ("json",))
    return bubblewrap_command(
        spec, bubblewrap="/bin/bwrap", descriptors={"info": 5, "seccomp": 6, "block": 7}, as_root=as_root
    )


def after(words, word):
    return words[words.index(word) + 1]


@pytest.mark.parametrize("as_root", [True, False])
def test_all_namespaces_are_unshared(as_root):
    made = make_words(as_root)
    assert {f"--unshare-{kind}" for kind in ("user", "ipc", "pid", "net", "uts", "cgroup")} <= set(made)
    assert {"--die-with-parent", "--new-session", "--clearenv"} <= set(made)
    assert (after(made, "--cap-drop"), after(made, "--seccomp"), after(made, "--size")) == ("ALL", "6", "12345")
    assert "--bind" not in made and "--dev" not in made
    assert ("--cap-add" in made, "--userns-block-fd" in made) == (as_root, as_root)


def test_root_becomes_read_only_last():
    made = make_words(False)
    mounts = [
        place for place, word in enumerate(made) if word in ("--ro-bind", "--tmpfs", "--dir", "--symlink", "--proc")
    ]
    assert max(mounts) < max(place for place in range(len(made)) if made[place : place + 2] == ["--remount-ro", "/"])
    proc = made.index("--proc")
    assert made[proc : proc + 4] == ["--proc", "/proc", "--remount-ro", "/proc"]
    covered = made.index("/opt/py/lib/x")
    assert made[covered - 1 : covered + 3] == ["--tmpfs", "/opt/py/lib/x", "--remount-ro", "/opt/py/lib/x"]
    assert made.index("/opt/py/lib/x") > made.index("--ro-bind")


def test_intermediate_folders_are_created():
    made = make_words(False)
    folders = [made[place + 1] for place, word in enumerate(made) if word == "--dir"]
    assert {"/opt", "/opt/py", "/packages", "/dev"} <= set(folders) and folders == sorted(folders)


def test_limits_are_passed_to_the_worker():
    told = json.loads(make_words(False)[-1])
    assert (told["disk"], told["preload"], told["packages"], told["children"]) == (12345, ["json"], "/packages", 0)


@pytest.mark.parametrize(
    ("text", "user", "outside"),
    [
        ("0 0 4294967295", 0, 65534),
        ("0 100000 65536", 0, 65534),
        ("0 100000 1000", 0, 999),
        ("0 1000 1", 0, None),
        ("0 0 4294967295", 1000, None),
    ],
)
def test_host_user_id_follows_the_uid_map(text, user, outside):
    assert host_user_id(text + "\n", user) == outside


def test_missing_bubblewrap_raises(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install bubblewrap"):
        find_bubblewrap()
