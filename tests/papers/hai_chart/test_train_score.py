import numpy as np

from handaxe.papers.hai_chart.chart_tables import GalleryChart, make_table
from handaxe.papers.hai_chart.train_score import published_pairs, published_query, train_scores

KINDS = {"k": "categorical", "a": "numerical", "b": "numerical"}


def table(name, gallery):
    rng = np.random.default_rng(len(name))
    columns = {"k": ["u", "v", "w"] * 10, "a": rng.normal(size=30), "b": rng.normal(size=30)}
    return make_table(name, columns, KINDS, gallery)


POINT = GalleryChart("point", "a", "none", "b")
HISTOGRAM = GalleryChart("bar", "a", "count", "records")


def test_a_histogram_gets_bins():
    found = published_query(table("one", ()), HISTOGRAM)
    assert found == ("bar", "a", "count", "records", "auto", "none", "none")


def test_features_of_published_and_other_charts():
    good, bad = published_pairs(table("one", (POINT, HISTOGRAM)), others=30)
    assert good.shape == (2, 18) and 0 < len(bad) <= 30
    assert good[0, 2] == 1 and good[1, 0] == 1  # point, bar


def test_weights_of_a_table_do_not_depend_on_its_own_gallery():
    others = [table("one", (POINT,)), table("other", (POINT, HISTOGRAM))]
    found = [train_scores([*others, table("held", own)], others=20) for own in ((POINT,), (HISTOGRAM,), ())]
    np.testing.assert_array_equal(found[0]["held"], found[1]["held"])
    np.testing.assert_array_equal(found[0]["held"], found[2]["held"])
    assert np.abs(found[0]["one"] - found[1]["one"]).max() > 1e-3
    assert found[0]["held"][2] > found[0]["held"][[1, 3]].max()  # neither lines nor arcs are published
