"""The colours of a picture, the same in every format."""

from __future__ import annotations

INK = "#1b2733"
LINE = "#5b6b7b"
CARD = "#ffffff"
BORDER = "#d9e0e7"
GROUND = "#f3f6fa"
MARKED = "#ffdb4d"
BLUE = "#0b5fb3"
RED = "#c2262e"
GREY = "#566472"
GRID = "#e4e9ee"
BARS = "#86b6d9"
