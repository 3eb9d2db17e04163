from handaxe.tools.database.table import format_schema, format_table


def test_tables_and_schemas_give_the_examples():
    assert format_table(["a", "b"], [[1, None], [2.5, "x"]]) == "a | b\n1 | NULL\n2.5 | x\n(2 rows)"
    assert format_schema([("town", [("name", "TEXT"), ("year", "INTEGER")])]) == "town(name TEXT, year INTEGER)"


def test_null_and_the_text_null_differ():
    assert format_table(["a"], [[None], ["NULL"], ["null"], [""]]).split("\n")[1:5] == ["NULL", "'NULL'", "null", ""]


def test_row_is_one_line():
    shown = format_table(["a|b\n"], [["c|d\\\n\t\x1b[31m\u2028\x00"]])
    assert shown.split("\n") == ["a\\|b\\n", "c\\|d\\\\\\n\\t\\x1b[31m\\u2028\\x00", "(1 row)"]


def test_blobs_show_size_if_cut():
    cells = [{"blob": "0a0b", "size": 2}, {"blob": "00" * 16, "size": 17}]
    assert format_table(["a", "b"], [cells]).split("\n")[1] == f"x'0a0b' | x'{'00' * 16}...' (17 bytes)"


def test_row_count_is_shown():
    assert format_table(["a"], []) == "a\n(0 rows)"
    assert format_table(["a"], [[1], [2]], more=True).endswith("(the first 2 rows; there are more)")
    assert format_schema([]) == "there are no tables"
    assert format_schema([("v", [("x", "")])]) == "v(x)"
