"""What draws itself: one description as a diagram, and from it every format."""

from __future__ import annotations

from abc import ABC, abstractmethod

from symveil.errors import TooLargeError
from symveil.pictures.diagram import Diagram
from symveil.pictures.dot import to_dot
from symveil.pictures.svg import to_svg


class Drawable(ABC):
    """Has a diagram, and so is drawn in notebooks and files."""

    __slots__ = ()

    @abstractmethod
    def to_diagram(self) -> Diagram:
        """The picture before any format; refused with `TooLargeError` when it is too large to read."""

    def to_svg(self) -> str:
        """The drawing as a self-contained SVG document."""
        return to_svg(self.to_diagram())

    def to_dot(self) -> str:
        """The drawing as a Graphviz graph."""
        return to_dot(self.to_diagram())

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; None, so that it shows the text, where a drawing would be too large."""
        try:
            return self.to_svg()
        except TooLargeError:
            return None
