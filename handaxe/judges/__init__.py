"""Judges: Group -> scores, some with parameters. Rewards and rollouts take a judge as an argument."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
