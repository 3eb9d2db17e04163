"""Measures how long one waits for a run of many trajectories: its tables, a step, a trajectory, a search, its page.

A run is made by the real parts: the world of sums, whose expert is followed or not as a draw says, played by the
driver, rewarded, credited and written by `training.loop.train.train`, which trains nothing. The same of 1,200
trajectories shows what of the time depends on how many there are. Times are medians, each with the record opened anew,
with the file in the system's cache. The page is opened in Chromium where that and Playwright are installed, each time
by a new browser, from a new `handaxe view`.
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from handaxe.core.records import Sampling, ToolCall
from handaxe.core.requests import Work
from handaxe.credit.group_norm import group_norm
from handaxe.curricula.in_order import in_order
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.driver.executor import Answer
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator
from handaxe.training.loop.config import AsyncConfig, RunConfig, Updates
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord
from handaxe.view.exports.chosen import chosen
from handaxe.view.record_search import Where, count, search
from handaxe.worlds.arithmetic import arithmetic

GROUP, GROUPS = 8, 50
"""Siblings of a group, and groups of a step."""
SMALL = 1200
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
SCROLLED = """count => {
  const box = document.querySelector(".dt-scroll-body").getBoundingClientRect();
  const row = document.elementFromPoint(box.x + 50, box.y + box.height / 2)?.closest("tr");
  return Math.abs(Number(row?.querySelector("a")?.textContent) - count / 2) < 100;
}"""
"""Whether the row in the middle of what the table shows is about the middle one of all; its ids fall from `count`."""


class Drawn(ScriptedEngine):
    """Calls the calculator and gives its answer, but says one number too many in about a quarter of the attempts and
    calls nothing in another."""

    def sample(self, requests):
        out = []
        for request in requests:
            self._kind = derive_seed("bench", request.seed, "kind") % 4
            out += super().sample([request])
        return out

    def _words(self, request):
        said = self._format.decode(request.ids)
        if request.turn == 0 and self._kind:
            return ToolCall("calculator", {"expression": re.findall(r"\d+(?:[-+*]\d+)+|$", said)[-2:][0]})
        return re.findall(r"-?\d+", said)[-1] + ("1" if self._kind == 1 else "")


class Inline:
    """An executor without threads: the calculator answers at once, and a busy machine takes long to hand over."""

    def __init__(self):
        self._answers = []

    def submit(self, ticket, request):
        if isinstance(request, Work):
            value = request.call()
        else:
            value = request.env.step(request.turn, seed=request.seed)
        self._answers.append((ticket, Answer(value)))

    def ready(self, wait):
        found, self._answers = self._answers, []
        return found

    def forget(self, ticket):
        self._answers = [one for one in self._answers if one[0] != ticket]

    def __len__(self):
        return len(self._answers)

    def close(self):
        self._answers = []


def make(folder, size):
    """Play and record a run of about `size` trajectories."""
    world, format = arithmetic(), Compact()
    tasks = world.tasks("train", max(50, size // GROUP // 10), 0)
    train(
        engine=Drawn(format, [], tools=[calculator.schema]),
        format=format,
        env=tool_chat([calculator]),
        tasks=in_order(tasks),
        rollout=linear(max_turns=3),
        reward=world.correct,
        credit=group_norm(),
        loss=policy(ratio=token(), surrogate=clip(), reduction=token_mean()),
        sampling=Sampling(max_tokens=64),
        steps=-(-size // (GROUP * GROUPS)),
        groups=GROUPS,
        group_size=GROUP,
        updates=Updates(epochs=0),
        async_config=AsyncConfig(lockstep=True, workers=Inline()),
        run=RunConfig(out=folder, progress=False, checkpoint_every=1_000_000),
    )


def index(record):
    """First view of a run: metrics, steps, and the number of trajectories."""
    return record.metrics(), record.events(), count(record, Where())


def page(record):
    """The first hundred rows of the table."""
    return search(record, Where())


def sorted_page(record):
    """The hundred best in the middle of the table, all of it sorted by score."""
    return search(record, Where(), order="score", descending=True, first=count(record, Where()) // 2)


def step(record):
    """All groups of a step in the middle, with every token."""
    steps = record.steps()
    return record.groups(step=steps[len(steps) // 2])


def trajectory(record):
    """One trajectory in the middle, with its siblings, and why it got no gradient."""
    last = search(record, Where(), descending=True, most=1)[0]
    return list(chosen(record, [last.key // 2]))


def by_outcome(record):
    """How many called the calculator and were wrong, and the first hundred of them."""
    where = Where(tool="calculator", outcome="incorrect")
    return count(record, where), search(record, where)


def by_text(record):
    """How many said a word, and the first hundred of them: what was said is gone through."""
    where = Where(text="77")
    return count(record, where), search(record, where)


MEASURED = {
    "index": index,
    "page": page,
    "sorted_page": sorted_page,
    "step": step,
    "trajectory": trajectory,
    "search_outcome": by_outcome,
    "search_text": by_text,
}


def measure(folder, runs):
    """Milliseconds of each in all runs: on the wall, and of the processor, which is what to read on a busy machine."""
    found = {}
    for name, act in MEASURED.items():
        taken = []
        for _ in range(runs + 1):
            begin, cpu = time.perf_counter(), time.process_time()
            with RunRecord.open(folder) as record:
                act(record)
            taken.append((1e3 * (time.perf_counter() - begin), 1e3 * (time.process_time() - cpu)))
        # The first may have read the disk.
        found[name] = {kind: [round(v, 2) for v in own] for kind, own in zip(("ms", "cpu_ms"), zip(*taken[1:]))}
    return found


def opened(folder, runs, count):
    """Milliseconds in all runs: from the command to the address that it prints, from the address to the first rows of
    the run's table, drawn, and from a jump to the middle of its `count` rows to these. None where there is no
    browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    with sync_playwright() as driver:
        taken = [_opened(driver, chromium, folder, count) for _ in range(runs + 1)]
    # The first may have read the disk.
    names = ("address_ms", "rows_ms", "scrolled_ms")
    return {name: [round(v, 1) for v in own] for name, own in zip(names, zip(*taken[1:]))}


def _opened(driver, chromium, folder, count):
    command = [sys.executable, "-m", "handaxe", "view", str(folder), "--port", "0"]
    begin = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = re.search(r"http://\S+?/", server.stderr.readline())[0]
            listening = time.perf_counter() - begin
            browser = driver.chromium.launch(executable_path=chromium, args=CHROMIUM)
            page = browser.new_page(viewport={"width": 1366, "height": 850})
            begin = time.perf_counter()
            page.goto(f"{address}#/run/{quote(folder.resolve().name, safe='')}")
            page.wait_for_selector(".dt-scroll-body tbody tr a", timeout=120_000)
            page.evaluate(PAINTED)
            drawn = time.perf_counter() - begin
            body = page.locator(".dt-scroll-body")
            body.evaluate("body => body.scrollIntoView({ block: 'center' })")
            begin = time.perf_counter()
            body.evaluate("body => { body.scrollTop = body.scrollHeight / 2; }")
            page.wait_for_function(SCROLLED, arg=count, timeout=120_000)
            page.evaluate(PAINTED)
            scrolled = time.perf_counter() - begin
            browser.close()
        finally:
            server.send_signal(signal.SIGINT)
    return 1e3 * listening, 1e3 * drawn, 1e3 * scrolled


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000, help="trajectories of the large run")
    parser.add_argument("--run", type=Path, help="where the large run is kept, or lies already; a temporary folder")
    parser.add_argument("--runs", type=int, default=5, help="times that each is measured")
    parser.add_argument("--make", action="store_true", help="only make the large run")
    parser.add_argument("--quick", action="store_true", help="4,000 trajectories, measured once")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.size, arguments.runs = 4000, 1
    with tempfile.TemporaryDirectory() as temporary:
        large, small = arguments.run or Path(temporary) / "large", Path(temporary) / "small"
        begin = time.process_time()
        if not RunRecord.exists(large):
            make(large, arguments.size)
        made = time.process_time() - begin
        if arguments.make:
            return
        make(small, SMALL)
        before = os.getloadavg()[0]
        found = {"large": measure(large, arguments.runs), "small": measure(small, arguments.runs)}
        with RunRecord.open(large) as record, RunRecord.open(small) as other:
            there, beside = count(record, Where()), count(other, Where())
        browser = {"large": opened(large, arguments.runs, there), "small": opened(small, arguments.runs, beside)}
        megabytes = (large / "record.sqlite").stat().st_size / 1e6
    out = {
        "trajectories": there,
        "small": beside,
        "megabytes": round(megabytes, 1),
        "made_cpu_s": round(made, 1),
        "medians": {
            name: {
                size: {kind: round(statistics.median(values), 2) for kind, values in one[name].items()}
                for size, one in found.items()
            }
            for name in MEASURED
        },
        "runs": found,
        "browser": browser,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
    }
    print(json.dumps(out))
    if arguments.out:
        arguments.out.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
