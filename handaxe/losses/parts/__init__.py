"""Shared parts of losses: signatures of components, sums over rollouts and turns, metrics."""
