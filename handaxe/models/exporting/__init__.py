"""Writes a policy as a folder that plain transformers, and servers built on it, can use."""
