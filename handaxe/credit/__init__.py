"""Credit: (Group, Scores) -> Advantages. Who gets how much of what was scored."""

from handaxe.rooms import open_room

open_room(__name__)
