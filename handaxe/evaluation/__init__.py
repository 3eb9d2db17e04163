"""Evaluation: what a policy can do, with intervals, and whether it changed."""
