"""Pages in a real Chromium: hanging pages, and ends of the program."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.worlds.miniwob import browser as miniwob_browser
from handaxe.worlds.miniwob.browser import Chromium, pages_folder
from handaxe.worlds.miniwob.elements import list_elements

SCRIPT = "<script>var core = {endEpisode() { %s }}</script>"


def test_a_deadline_of_0_raises(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="deadline of 0"):
        Chromium(folder=tmp_path, deadline=0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install chromium"):
        Chromium(folder=tmp_path, deadline=60)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(miniwob_browser.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"miniwob and playwright: pip install 'handaxe\[miniwob\]'"):
        pages_folder()


needs_browser = pytest.mark.usefixtures("chromium_of_miniwob")


def below():
    """Running child processes of this process."""
    return {one for one in psutil.Process().children(recursive=True) if alive(one)}


def alive(process):
    """Whether a process runs; a process that ends during the check does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def gone(processes):
    """Whether all processes end; the minute is for a busy machine."""
    return not any(map(alive, psutil.wait_procs(processes, timeout=90)[1]))


@pytest.mark.browser
@pytest.mark.slow
@needs_browser
class TestInChromium:
    def test_seed_and_clicks_determine_the_page(self):
        chromium, before = Chromium(folder=pages_folder(), deadline=90), below()
        first = chromium.play("click-tab-2", 3, ())
        assert not first["over"] and first["raw"] == 0 and '"' in first["query"]
        tabs = [(one["ref"], None) for one in links(first["tree"], "A")]
        second = chromium.play("click-tab-2", 3, tabs[1:2])
        assert second["before"] == first["tree"] and links(second["tree"], "SPAN") != links(first["tree"], "SPAN")
        assert chromium.play("click-tab-2", 4, ())["query"] != first["query"]
        assert chromium.play("click-tab-2", 3, tabs[1:2]) == second
        started = below() - before
        assert started
        chromium.close()
        assert gone(started)
        assert chromium.play("click-tab-2", 3, ()) == first  # another browser
        started = below() - before
        del chromium
        assert started and gone(started)

    @pytest.mark.parametrize(
        ("page", "text", "shown"),
        [
            ("choose-date-nodelay", None, "Prev"),
            ("use-autocomplete-nodelay", "A", "Albania"),
            ("login-user-popup", "bo", "Cancel"),
        ],
    )
    def test_a_restart_closes_widgets_and_leaves_no_focus(self, page, text, shown):
        """Of a calendar in another month, suggestions, and a popup that opens with the focus."""
        chromium = Chromium(folder=pages_folder(), deadline=90)

        def listed(seed, actions):
            played = chromium.play(page, seed, actions)
            assert not played["over"]
            return list_elements(played["tree"], values=True)

        def opening(seed):
            """First content, and the actions: the first field, and then the element that it shows."""
            plain = listed(seed, ())
            field = next(one for one in plain if one.tag.startswith("input_"))
            found = [one for one in listed(seed, [(field.ref, text)]) if one.text == shown]
            return [(seed, plain, [(field.ref, text), (found[0].ref, None)])] if found else []

        seed, plain, actions = next(found for seed in range(12) for found in opening(seed))
        opened, after = listed(seed, actions[:1]), listed(seed, actions)
        assert plain != opened != after
        for played in (actions, actions[:1], ()):
            assert listed(seed, actions[:1]) == opened
            listed(seed, played)
            assert listed(seed, ()) == plain
            listed(seed, played)
            assert listed(seed, actions) == after
        chromium.close()

    def test_concurrent_rollouts_share_a_tab(self):
        chromium = Chromium(folder=pages_folder(), deadline=90)
        wanted = [chromium.play("click-button", seed, ()) for seed in range(6)]
        with ThreadPoolExecutor(12) as pool:
            assert list(pool.map(lambda n: chromium.play("click-button", n % 6, ()), range(24))) == wanted * 4
        chromium.close()

    def test_a_hanging_page_fails_alone(self, tmp_path):
        (tmp_path / "stuck.html").write_text(SCRIPT % "while (true) {}")
        chromium, before = Chromium(folder=tmp_path, deadline=5), below()
        for _ in range(2):
            with pytest.raises(InfrastructureError, match="'stuck' gave no answer within 5 seconds"):
                chromium.play("stuck", 0, ())
        started = below() - before
        chromium.close()
        assert gone(started)

    def test_a_failing_page_reports_its_error(self, tmp_path):
        (tmp_path / "broken.html").write_text(SCRIPT % "throw new Error('out of order')")
        chromium, before = Chromium(folder=tmp_path, deadline=90), below()
        with pytest.raises(InfrastructureError, match="out of order"):
            chromium.play("broken", 0, ())
        with pytest.raises(InfrastructureError, match="'missing' of miniwob cannot be played"):
            chromium.play("missing", 0, ())
        started = below() - before
        chromium.close()
        assert gone(started)

    def test_a_dead_browser_is_replaced(self):
        chromium, before = Chromium(folder=pages_folder(), deadline=90), below()
        first = chromium.play("click-link", 0, ())
        for one in below() - before:
            with contextlib.suppress(psutil.Error):  # of a part of the browser
                words = " ".join(one.cmdline())
                if "--headless" in words and "--type=" not in words:
                    one.kill()
        with contextlib.suppress(InfrastructureError):  # noticed at this call
            chromium.play("click-link", 0, ())
        assert chromium.play("click-link", 0, ()) == first
        started = below() - before
        chromium.close()
        assert gone(started)

    @pytest.mark.parametrize("way", ["end", "error", "interrupt", "terminate", "kill"])
    def test_no_process_survives_the_program(self, way):
        said = "raise SystemError" if way == "error" else "threading.Event().wait()" if way != "end" else "pass"
        program = (
            "import threading; from handaxe.worlds.miniwob.browser import Chromium, pages_folder\n"
            "chromium = Chromium(folder=pages_folder(), deadline=90)\n"
            f"chromium.play('click-link', 0, ()); print('playing', flush=True); input(); {said}"
        )
        with subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as run:
            watch = threading.Timer(300, run.kill)
            watch.start()
            assert run.stdout.readline() == b"playing\n"
            started = psutil.Process(run.pid).children(recursive=True)
            assert any("chromium" in one.name() for one in started)
            run.stdin.write(b"\n")
            run.stdin.flush()
            if way == "interrupt":
                os.killpg(run.pid, signal.SIGINT)  # as Ctrl-C: to the whole foreground group
            elif way in ("terminate", "kill"):
                run.send_signal(signal.SIGTERM if way == "terminate" else signal.SIGKILL)
            run.wait()
            watch.cancel()
        assert gone(started)


def links(tree, tag):
    return [tree] * (tree["tag"] == tag) + [found for one in tree["children"] for found in links(one, tag)]
