"""Baseline algorithms, a folder each."""
