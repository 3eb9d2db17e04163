"""Benchmarks: held-out tasks of worlds with fixed settings, played by any policy, with a table in a paper's form."""
