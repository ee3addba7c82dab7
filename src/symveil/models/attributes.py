"""Attributes of events and their public values: a list of names, or bins of a number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError

MOST_VALUES = 100_000


@dataclass(frozen=True, slots=True)
class PublicValues:
    """The public values of an attribute.

    Parameters
    ----------
    name
        The column.
    values
        The names of its values; of bins of a number what stands for each of them.
    edges
        Where values are bins of a number: from each edge up to the next. Numbers outside have no value.

    >>> ward = PublicValues.from_names("ward", ["A", "B"])
    >>> ward.codes(["B", "C", None]).tolist()
    [1, -1, -1]
    >>> age = PublicValues.from_edges("age", "0,18,65,120")
    >>> age.values, age.codes(["17", "18", "999", "old"]).tolist()
    (('0..18', '18..65', '65..120'), [0, 1, -1, -1])
    """

    name: str
    values: tuple[str, ...]
    edges: tuple[Decimal, ...] | None = None

    @classmethod
    def from_names(cls, name: str, values: Iterable[str]) -> PublicValues:
        """An attribute with these values."""
        listed = tuple(str(value) for value in values)
        if not 1 <= len(listed) <= MOST_VALUES or len(set(listed)) < len(listed) or "" in listed:
            raise ParameterError(
                "attributes", expected=f"1 to {MOST_VALUES} different public values for {name!r}",
                found=f"{len(listed)}, some of them twice or empty" if listed else "none",
            )  # fmt: skip
        return cls(name, listed)

    @classmethod
    def from_edges(cls, name: str, text: str) -> PublicValues:
        """An attribute whose values are bins of a number, by their edges."""
        parts = [part.strip() for part in text.split(",")]
        numbers = [_number(part) for part in parts]
        edges = [number for number in numbers if number is not None]
        increasing = all(low < high for low, high in pairwise(edges))
        if len(edges) < len(parts) or len(edges) < 2 or not increasing:
            raise ParameterError(
                "attributes",
                expected="a file of public values, or increasing edges of bins such as 0,10,100",
                found=text,
            )
        names = tuple(f"{low}..{high}" for low, high in pairwise(parts))
        return cls(name, names, tuple(edges))

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, cells: Iterable[str | None], plain: Callable[[str], str] = str) -> NDArray[np.int64]:
        """The code of each cell; -1 where it has none of the values."""
        known: dict[str | None, int] = {None: -1}
        number = {value: code for code, value in enumerate(self.values)}
        codes = []
        for cell in cells:
            code = known.get(cell)
            if code is None:
                text = plain(str(cell))
                code = number.get(text, -1) if self.edges is None else self._bin(text)
                known[cell] = code
            codes.append(code)
        return np.array(codes, dtype=np.int64)

    def _bin(self, text: str) -> int:
        number = _number(text)
        if number is None or self.edges is None or not self.edges[0] <= number < self.edges[-1]:
            return -1
        return bisect_right(self.edges, number) - 1

    @classmethod
    def read(cls, name: str, text: str, lines: Callable[[str], Iterable[str]]) -> PublicValues:
        """An attribute as it is typed: edges of bins such as 0,10,100, or a file with a value in each line."""
        if "," in text and all(_number(part) is not None for part in text.split(",")):
            return cls.from_edges(name, text)
        return cls.from_names(name, [line for line in lines(text) if line])

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> PublicValues:
        """The attribute in a model or a manifest."""
        name, edges = str(document["name"]), document.get("edges")
        own = cls.from_names(name, document["values"]) if edges is None else cls.from_edges(name, ",".join(edges))
        if list(own.values) != list(document["values"]):
            raise ValueError("values that do not fit")
        return own

    def sampled(self, codes: NDArray[np.int64], within: NDArray[np.float64]) -> list[str]:
        """A text for each code; of bins of a number a number inside, with as many decimals as edges have.

        `within` says where inside the bin, from 0 up to 1.

        >>> PublicValues.from_edges("age", "0,18,65").sampled(np.array([1]), np.array([0.5]))
        ['41']
        """
        if self.edges is None:
            return [self.values[code] for code in codes.tolist()]
        places = max(max(-int(edge.as_tuple().exponent), 0) for edge in self.edges)
        unit = Decimal(1).scaleb(-places)
        texts = []
        for code, part in zip(codes.tolist(), within.tolist(), strict=True):
            low, high = self.edges[code], self.edges[code + 1]
            steps = int((high - low) / unit)
            texts.append(f"{low + unit * min(int(part * steps), max(steps - 1, 0)):f}")
        return texts

    def document(self) -> dict[str, object]:
        """The JSON form."""
        bins = {} if self.edges is None else {"edges": [str(edge) for edge in self.edges]}
        return {"name": self.name, "values": list(self.values), **bins}


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
