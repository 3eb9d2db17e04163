"""Constants of the method istar, read by the tests of every method (tests/papers)."""

LAB = "the judge learns beside a policy; see `implicit_prm`"
