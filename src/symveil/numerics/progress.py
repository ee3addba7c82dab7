"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

FileProgress = Callable[[str, float, int], None]
"""Called with what is done to a file, how much of it was read (0 to 1), and how many records that is."""

Steps = Callable[[str], Progress]
"""Called with what begins; returns what is called with how far that is."""
