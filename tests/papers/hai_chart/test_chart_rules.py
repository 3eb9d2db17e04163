import pytest

from handaxe.papers.hai_chart.chart_data import chart_data
from handaxe.papers.hai_chart.chart_rules import rule_score, rules_kept
from handaxe.papers.hai_chart.chart_tables import make_table

TABLE = make_table(
    "sales",
    {"month": [f"m{one:02d}" for one in range(12)] * 2, "sold": range(-2, 22), "year": range(24)},
    {"month": "categorical", "sold": "numerical", "year": "numerical"},
)


@pytest.mark.parametrize(
    "query, broken",
    [
        (("bar", "month", "sum", "sold", "none", "descending", "none"), set()),
        (("arc", "month", "average", "sold", "none", "none", "none"), {"readable", "parts"}),
        (("arc", "month", "count", "records", "none", "none", "top5"), set()),
        (("arc", "month", "none", "sold", "none", "none", "top5"), {"parts"}),
        (("line", "month", "sum", "sold", "none", "none", "none"), {"ordered"}),
        (("line", "year", "none", "sold", "none", "none", "none"), set()),
        (("bar", "year", "none", "sold", "auto", "none", "none"), {"grouped", "readable", "single"}),
        (("bar", "year", "sum", "sold", "none", "ascending", "none"), {"readable", "sorted"}),
        (("point", "year", "sum", "sold", "none", "none", "none"), {"raw"}),
    ],
)
def test_broken_rules(query, broken):
    kept = rules_kept(TABLE, query, chart_data(TABLE, query))
    assert {name for name, own in kept.items() if not own} == broken
    assert rule_score(TABLE, query, chart_data(TABLE, query)) == pytest.approx((7 - len(broken)) / 7, abs=1e-9)
