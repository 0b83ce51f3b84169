"""What a caller may want to hear of the connection while it waits."""

from enum import StrEnum

__all__ = ["ConnectionChange"]


class ConnectionChange(StrEnum):
    """What happened to a client's connection; calls under way go on through both."""

    LOST = "lost"
    """The broker is gone; it is tried again until it is back."""
    BACK = "back"
    """Connected again; every open call is looked up."""
