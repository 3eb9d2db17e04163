"""A small real database: the first elements, with the year of discovery where there is one (NULL: since antiquity)."""

import sqlite3

ELEMENTS = [
    (1, "H", "hydrogen", 1.008, 1766),
    (2, "He", "helium", 4.0026, 1868),
    (3, "Li", "lithium", 6.94, 1817),
    (4, "Be", "beryllium", 9.0122, 1798),
    (5, "B", "boron", 10.81, 1808),
    (6, "C", "carbon", 12.011, None),
    (7, "N", "nitrogen", 14.007, 1772),
    (8, "O", "oxygen", 15.999, 1774),
    (9, "F", "fluorine", 18.998, 1886),
    (10, "Ne", "neon", 20.180, 1898),
    (11, "Na", "sodium", 22.990, 1807),
    (12, "Mg", "magnesium", 24.305, 1808),
    (13, "Al", "aluminium", 26.982, 1825),
    (14, "Si", "silicon", 28.085, 1824),
    (15, "P", "phosphorus", 30.974, 1669),
    (16, "S", "sulfur", 32.06, None),
    (17, "Cl", "chlorine", 35.45, 1774),
    (18, "Ar", "argon", 39.948, 1894),
    (26, "Fe", "iron", 55.845, None),
    (79, "Au", "gold", 196.97, None),
]
TABLE = "CREATE TABLE element (number INTEGER, symbol TEXT, name TEXT, mass DOUBLE, discovered INTEGER)"
VIEW = "CREATE VIEW ancient AS SELECT name FROM element WHERE discovered IS NULL"


def write_sqlite(path):
    connection = sqlite3.connect(path)
    connection.execute(TABLE)
    connection.execute(VIEW)
    connection.executemany("INSERT INTO element VALUES (?, ?, ?, ?, ?)", ELEMENTS)
    connection.commit()
    connection.close()
    return path


def write_duckdb(path):
    import duckdb

    connection = duckdb.connect(str(path))
    connection.execute(TABLE)
    connection.execute(VIEW)
    connection.executemany("INSERT INTO element VALUES (?, ?, ?, ?, ?)", ELEMENTS)
    connection.close()
    return path
