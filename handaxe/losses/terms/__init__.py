"""Terms added to a policy loss, such as a KL penalty, an entropy bonus or a value loss."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
