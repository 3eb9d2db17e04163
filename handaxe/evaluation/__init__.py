"""Evaluation of policies, claims and rewards, with intervals."""
