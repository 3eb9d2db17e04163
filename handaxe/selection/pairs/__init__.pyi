from .ordered import ordered as ordered
