"""Pool of real Java processes: reproducible states, dead and hanging processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.worlds.scienceworld.simulator_pool import SimulatorPool
from handaxe.worlds.scienceworld.simulator_process import HouseScene

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("scienceworld_cache")]

BEARS = HouseScene("lifespan-longest-lived", 0, "easy")
PLANT = HouseScene("find-plant", 0, "openDoors")
WALK = ["go to greenhouse", "look around", "go to outside", "wait1", "go to kitchen", "wait1", "look around"]


@pytest.fixture(scope="module")
def pool():
    made = SimulatorPool()
    yield made
    made.close()


def states(pool, scene, actions):
    return [pool.play(scene, actions[:count]) for count in range(len(actions) + 1)]


def alive(pid):
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "zombie" not in status.read_text()


def test_states_are_equal_between_processes_and_beside_other_environments(pool):
    """Bees move at random and open doors let them out."""
    alone = states(SimulatorPool(), PLANT, WALK)
    mixed = []
    for count in range(len(WALK) + 1):
        pool.play(BEARS, WALK[:count])
        mixed.append(pool.play(PLANT, WALK[:count]))
    assert mixed == alone
    assert len({one.look for one in alone}) > 2


def test_more_rollouts_than_environments_share_a_process(pool, monkeypatch):
    wanted = states(pool, PLANT, WALK)
    few = SimulatorPool()
    monkeypatch.setattr(sys.modules[SimulatorPool.__module__], "SEATS", 2)
    for count in range(len(WALK) + 1):
        for scene in (BEARS, PLANT, HouseScene("find-plant", 1, "openDoors"), HouseScene("find-plant", 2, "openDoors")):
            found = few.play(scene, WALK[:count])
            assert scene != PLANT or found == wanted[count]
    assert len(few.processes()) == 1
    few.close()


def test_threads_share_the_pool(pool):
    wanted = {scene: states(pool, scene, WALK) for scene in (BEARS, PLANT)}
    fresh, found = SimulatorPool(processes=2), {}
    threads = [
        threading.Thread(target=lambda scene=scene, n=n: found.__setitem__((scene, n), states(fresh, scene, WALK)))
        for scene in (BEARS, PLANT)
        for n in range(2)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(found[scene, n] == wanted[scene] for scene in (BEARS, PLANT) for n in range(2))
    fresh.close()


def test_a_killed_idle_process_is_replaced_without_loss(pool):
    wanted = pool.play(PLANT, WALK[:3])
    (pid,) = pool.processes()
    os.kill(pid, signal.SIGKILL)
    pool._desks[0].simulator.process.wait(30)
    after = pool.play(PLANT, [*WALK[:3], "go to kitchen"])
    assert after.room == "kitchen" and after.look != wanted.look and pool.processes() != [pid]


def test_a_process_that_dies_in_a_call_fails_that_call_only(pool):
    pool.play(PLANT, ())
    (pid,) = pool.processes()
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(InfrastructureError, match="the Java process of ScienceWorld died"):
        pool.play(PLANT, ["read drawing"])
    assert pool.play(PLANT, ["read drawing"]).text


def test_a_hanging_process_is_killed_at_the_deadline():
    pool = SimulatorPool(deadline=20)
    pool.play(PLANT, ())
    (pid,) = pool.processes()
    pool._desks[0].simulator._gateway.gateway_parameters.read_timeout = 1
    for connection in pool._desks[0].simulator._gateway._gateway_client.deque:
        connection.socket.settimeout(1)
    pool._desks[0].simulator.deadline = 1
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(InfrastructureError, match="gave no reply within 1 seconds"):
        pool.play(PLANT, ["wait1"])
    assert not alive(pid) and pool.processes() == []
    assert pool.play(PLANT, ["wait1"]).text.startswith("You decide to wait")
    pool.close()


def test_the_process_ends_with_a_killed_program():
    code = (
        "import time\nfrom handaxe.worlds.scienceworld.simulator_pool import SimulatorPool\n"
        "from handaxe.worlds.scienceworld.simulator_process import HouseScene\npool = SimulatorPool()\n"
        f"pool.play(HouseScene(*{tuple(BEARS)}), ())\nprint(*pool.processes(), flush=True)\ntime.sleep(600)"
    )
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(program.stdout.readline())
    assert alive(pid)
    program.kill()
    program.wait()
    end = time.monotonic() + 30
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert not alive(pid)


def test_memory_has_a_limit():
    """Heap and its options are Java's own; a heap that is full ends the process, and the call fails."""
    pool = SimulatorPool(memory=128)
    pool.play(BEARS, ())
    command = Path(f"/proc/{pool.processes()[0]}/cmdline").read_text().split("\0")
    assert "-Xmx128m" in command and "-XX:+ExitOnOutOfMemoryError" in command
    pool.close()


def test_arguments_out_of_range_raise():
    for options in ({"processes": 0}, {"memory": 64}, {"deadline": 0}):
        with pytest.raises(InputError, match="simulators is 1 or more, memory 128 MiB or more"):
            SimulatorPool(**options)
