"""The fields of a choice of a mechanism, by name: the types of keyword arguments, read without loading a mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:  # options of commands are made from descriptions that stand on these types: they must load at once
    from symveil.languages.cost_table import CostTable
    from symveil.laws.parameters import Adjacency, Cap
    from symveil.numbers.rationals import Number


class ChoiceParameters(TypedDict, total=False):
    """The fields of `MechanismChoice`, as they may be given: numbers of any kind."""

    epsilon: Number
    mechanism: str
    adjacency: Adjacency | None
    calibration: str
    prior: str
    utility: str
    offset: Number
    public_start: bool
    metric: str
    max_length: int | None
    cutoff: int | None
    cost: str | None
    cap: Cap | None
    balanced: bool
    beyond: str | Number | None
    step: int | None
    costs: CostTable | None


class EveryChoiceParameter(ChoiceParameters, total=False):
    """The same, and what allows a mechanism that is there for reproduction only."""

    not_private: bool
