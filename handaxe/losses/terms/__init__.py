"""Terms: what is added to a policy loss, such as a KL penalty, an entropy bonus or a value loss."""

from handaxe.rooms import open_room

open_room(__name__)
