"""Channels: a finite table of what is shown for each input, with exact probabilities."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, cast

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.models.limits import LIMITS
from symveil.models.markov_chain import LONGEST_DENOMINATOR, ROUNDED_SUM, read_probability
from symveil.models.names import require_name, require_names, require_rows, shown
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import Number, exact, shown_at_least, shown_at_most

Pair = tuple[str, str]
Related = str | int | float | Fraction | Iterable[Any] | Callable[[str, str], bool] | Path
"""Which inputs are related: "all", pairs of inputs, a largest distance of numbers, a square table of true and false, a
function of two inputs; or, where a channel is read from a file, the path of a table of pairs."""

_COLUMNS = ("input", "output", "probability")
_SUM = "its probabilities to sum to 1 (a third is written 1/3, not 0.333)"


@dataclass(frozen=True, kw_only=True)
class Channel:
    """Inputs, outputs, and the probability of each output for each input; and which inputs are related.

    Anyone who sees an output asks which input it came from. `related` lists the pairs of inputs that are to be hard to
    tell apart; each counts in both directions.

    Parameters
    ----------
    inputs, outputs
        Their names.
    rows
        For each input the probabilities of all outputs, in their order: Fractions that sum to 1.
    related
        Pairs of inputs.

    >>> answers = Channel.of([["3/4", "1/4"], ["1/4", "3/4"]], inputs=["yes", "no"], outputs=["yes", "no"])
    >>> answers
    Channel(2 inputs, 2 outputs, 1 related pair)
    >>> answers.probability("yes", "no")
    Fraction(1, 4)
    """

    kind: ClassVar[str] = "channel"

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...] = field(repr=False)
    related: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("inputs", "input"), ("outputs", "output")):
            known = require_names(getattr(self, name), where=name, kind=kind)
            if not known:
                raise ModelError(name, expected=f"at least one {kind}", found="none")
            object.__setattr__(self, name, tuple(known))
        if len(self.rows) != len(self.inputs):
            raise ModelError("rows", expected=f"{len(self.inputs)}, one for each input", found=str(len(self.rows)))
        rows = tuple(tuple(row) for row in self.rows)
        for name, row in zip(self.inputs, rows, strict=True):
            where = f"input {shown(name)}"
            if len(row) != len(self.outputs):
                raise ModelError(where, expected=f"{len(self.outputs)} probabilities", found=str(len(row)))
            for chance in row:
                if not isinstance(chance, Fraction) or not 0 <= chance <= 1:
                    raise ModelError(where, expected="probabilities from 0 to 1 as Fractions", found=shown(chance))
            if sum(row) != 1:
                raise ModelError(where, expected=_SUM, found=_of_sum(sum(row, start=Fraction(0))))
        object.__setattr__(self, "rows", rows)
        for index, pair in enumerate(self.related):
            for side, name in enumerate(pair):
                _require_one_of(name, self.number, where=f"related[{index}][{side}]", what="input")
        object.__setattr__(self, "related", tuple((s, t) for s, t in self.related))

    @classmethod
    def of(
        cls,
        table: object,
        *,
        inputs: Sequence[object] | None = None,
        outputs: Sequence[object] | None = None,
        related: Related = "all",
        notes: list[str] | None = None,
    ) -> Channel:
        """A channel from whatever holds its table.

        Parameters
        ----------
        table
            A matrix (nested lists, or an array) with a row for each input and a column for each output; a data frame of
            that form, or one with the columns input, output and probability; or a mapping from each input to a
            mapping from outputs to probabilities. Probabilities are exact: a decimal is what it spells, and "1/3" is
            a third.
        inputs, outputs
            Their names, where a matrix has none: 0, 1, … by default.
        related
            Which inputs are to be hard to tell apart: "all"; pairs of inputs; a number d, where inputs are numbers
            and those at most d apart are related; a square table of true and false (such as `distance <= 1`); or a
            function of two inputs.
        notes
            Gets a sentence where decimals were normalised.

        >>> Channel.of({"0": {"a": "2/3", "b": "1/3"}, "1": {"a": "1/3", "b": "2/3"}}).related
        (('0', '1'),)
        >>> geometric = [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]]
        >>> Channel.of(geometric, related=1).related
        (('0', '1'), ('1', '2'))
        """
        if isinstance(table, Channel):
            return table
        if hasattr(table, "columns") and hasattr(table, "itertuples"):
            names = [str(name) for name in cast(Any, table).columns]
            if set(_COLUMNS) <= {name.strip().lower() for name in names}:
                column_indices = [[name.strip().lower() for name in names].index(role) for role in _COLUMNS]
                results = [
                    tuple(row[column] for column in column_indices) for row in cast(Any, table).itertuples(index=False)
                ]
                return cls.from_rows(results, related=related, notes=notes)
            matrix = [list(row) for row in cast(Any, table).itertuples(index=False)]
            return cls._of_matrix(matrix, inputs or list(cast(Any, table).index), outputs or names, related, notes)
        if isinstance(table, Mapping):
            entries = [(i, o, chance) for i, row in table.items() for o, chance in _mapping(row).items()]
            return cls.from_rows(entries, related=related, notes=notes)
        if isinstance(table, str) or not isinstance(table, Iterable):
            raise ModelError("channel", expected="a matrix or a table of probabilities", found=shown(table))
        rows = [list(row) if _is_row(row) else row for row in table]
        if not all(isinstance(row, list) for row in rows):
            raise ModelError("channel", expected="a matrix: a row of probabilities for each input", found="one row")
        return cls._of_matrix(rows, inputs, outputs, related, notes)

    @classmethod
    def _of_matrix(
        cls,
        matrix: list[list[object]],
        inputs: Sequence[object] | None,
        outputs: Sequence[object] | None,
        related: Related,
        notes: list[str] | None,
    ) -> Channel:
        width = len(matrix[0]) if matrix else 0
        names_in = [str(name) for name in (range(len(matrix)) if inputs is None else inputs)]
        names_out = [str(name) for name in (range(width) if outputs is None else outputs)]
        if len(names_in) != len(matrix):
            raise ModelError("inputs", expected=f"{len(matrix)} names, one for each row", found=str(len(names_in)))
        for name, row in zip(names_in, matrix, strict=True):
            if len(row) != len(names_out):
                raise ModelError(
                    f"input {shown(name)}", expected=f"{len(names_out)} probabilities, one for each output",
                    found=str(len(row)),
                )  # fmt: skip
        entries = [
            (i, o, chance)
            for i, row in zip(names_in, matrix, strict=True)
            for o, chance in zip(names_out, row, strict=True)
        ]
        return cls.from_rows(entries, related=related, notes=notes, inputs=names_in, outputs=names_out)

    @classmethod
    def from_rows(
        cls,
        entries: Iterable[tuple[object, object, object]],
        *,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        related: Related = "all",
        notes: list[str] | None = None,
    ) -> Channel:
        """A channel from rows (input, output, probability); what is not listed has probability 0.

        Parameters
        ----------
        entries
            The rows.
        inputs, outputs
            Names that come first, in this order.
        related, notes
            As in `of`.

        >>> Channel.from_rows([("rain", "umbrella", "0.9"), ("rain", "none", "0.1"), ("sun", "none", 1)])
        Channel(2 inputs, 2 outputs, 1 related pair)
        """
        given: dict[str, dict[str, Fraction]] = {name: {} for name in inputs}
        seen: dict[str, None] = dict.fromkeys(outputs)
        decimal: set[str] = set()
        for index, (source, output, spelled) in enumerate(
            require_rows(entries, columns=", ".join(_COLUMNS), where="rows")
        ):
            name, shows = str(source), str(output)
            for each, kind in ((name, "input"), (shows, "output")):
                require_name(each, where=f"rows[{index}]", kind=kind)
            where = f"input {shown(name)}, output {shown(shows)}"
            chance, is_decimal = read_probability(spelled.strip() if isinstance(spelled, str) else spelled, where=where)
            if chance < 0 or chance.denominator >= 10**LONGEST_DENOMINATOR:
                raise ModelError(where, expected="a probability from 0 to 1", found=shown(spelled))
            row = given.setdefault(name, {})
            if shows in row:
                raise ModelError(where, expected="one probability", found="a second")
            row[shows] = chance
            seen[shows] = None
            if is_decimal:
                decimal.add(name)
        if not given:
            raise ModelError("rows", expected="at least one input", found="none")
        if len(given) * len(seen) > LIMITS.now.cells:
            raise TooLargeError(f"channel: expected at most {LIMITS.now.cells} inputs × outputs, found more")
        normalised = 0
        for name, row in given.items():
            total = sum(row.values(), start=Fraction(0))
            if name in decimal and 0 < abs(total - 1) <= ROUNDED_SUM:
                normalised += 1
                given[name] = {output: chance / total for output, chance in row.items()}
            elif total != 1:
                raise ModelError(f"input {shown(name)}", expected=_SUM, found=_of_sum(total))
        if normalised and notes is not None:
            many = "1 input" if normalised == 1 else f"{normalised} inputs"
            notes.append(f"the probabilities of {many} were normalised to sum to exactly 1")
        zero = Fraction(0)
        names = tuple(given)
        return cls(
            inputs=names,
            outputs=tuple(seen),
            rows=tuple(tuple(row.get(output, zero) for output in seen) for row in given.values()),
            related=related_pairs(names, related),
        )

    # --- looking things up ---------------------------------------------------------------------

    @computed_once
    def number(self) -> dict[str, int]:
        """The index of each input."""
        return {name: index for index, name in enumerate(self.inputs)}

    def probability(self, given: str, output: str) -> Fraction:
        """How likely an output is for an input."""
        _require_one_of(given, self.number, where="input", what="input")
        _require_one_of(output, self.outputs, where="output", what="output")
        return self.rows[self.number[given]][self.outputs.index(output)]

    def pairs(self, asked: Iterable[Pair] | None = None) -> tuple[Pair, ...]:
        """The pairs that were asked for, or the related ones in both directions."""
        if asked is None:
            return tuple(dict.fromkeys(pair for s, t in self.related for pair in ((s, t), (t, s))))
        return tuple(dict.fromkeys(_pairs_of_names(self.inputs, asked, where="pairs")))

    def __repr__(self) -> str:
        related = f", {len(self.related)} related pair{'s' * (len(self.related) != 1)}" if self.related else ""
        return f"Channel({len(self.inputs)} inputs, {len(self.outputs)} outputs{related})"


def related_pairs(inputs: Sequence[str], related: Related) -> tuple[Pair, ...]:
    """The unordered pairs of inputs that are related.

    >>> related_pairs(["1", "2", "4"], 2)
    (('1', '2'), ('2', '4'))
    >>> related_pairs(["a", "b", "c"], lambda one, other: "b" in (one, other))
    (('a', 'b'), ('b', 'c'))
    """
    index_pairs = [(i, j) for i in range(len(inputs)) for j in range(i + 1, len(inputs))]
    if isinstance(related, str):
        if related != "all":
            raise ParameterError("related", expected="all, pairs of inputs, or a distance", found=repr(related))
        return tuple((inputs[i], inputs[j]) for i, j in index_pairs)
    if callable(related):
        return tuple((inputs[i], inputs[j]) for i, j in index_pairs if related(inputs[i], inputs[j]))
    if isinstance(related, bool) or not isinstance(related, Iterable):
        most = exact(cast(Number, related), name="related", expected="all, pairs of inputs, or a distance such as 1")
        numbers = [_number(name) for name in inputs]
        return tuple((inputs[i], inputs[j]) for i, j in index_pairs if abs(numbers[i] - numbers[j]) <= most)
    rows = [list(row) if _is_row(row) else row for row in cast(Iterable[Any], related)]
    if rows and all(isinstance(row, list) and all(_is_truth(cell) for cell in row) for row in rows):
        if [len(row) for row in rows] != [len(inputs)] * len(inputs):
            expected = f"a square table of true and false for {len(inputs)} inputs"
            raise ModelError("related", expected=expected, found=f"{len(rows)} rows")
        return tuple((inputs[i], inputs[j]) for i, j in index_pairs if rows[i][j] or rows[j][i])
    return tuple(dict.fromkeys(_pairs_of_names(inputs, rows, where="related")))


def _pairs_of_names(inputs: Sequence[str], pairs: Iterable[Any], *, where: str) -> list[Pair]:
    known = set(inputs)
    results = []
    for index, pair in enumerate(pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ModelError(f"{where}[{index}]", expected="a pair of inputs", found=shown(pair))
        one, other = str(pair[0]), str(pair[1])
        for side, name in enumerate((one, other)):
            _require_one_of(name, known, where=f"{where}[{index}][{side}]", what="input")
        results.append((one, other))
    return results


def _require_one_of(name: str, known: Container[str], *, where: str, what: str) -> None:
    if name not in known:
        raise ModelError(where, expected=f"an {what} of the channel", found=shown(name))


def _number(name: str) -> Fraction:
    return exact(name, name="related", expected="inputs that are numbers, where related is a distance")


def _is_row(row: object) -> bool:
    return isinstance(row, Iterable) and not isinstance(row, str | Mapping)


def _is_truth(cell: object) -> bool:
    return isinstance(cell, bool) or type(cell).__name__ in ("bool", "bool_")


def _mapping(row: object) -> Mapping[Any, Any]:
    if not isinstance(row, Mapping):
        raise ModelError("channel", expected="a mapping from outputs to probabilities", found=shown(row))
    return row


def _of_sum(total: Fraction) -> str:
    """A sum, so that it does not look like 1 when it is not."""
    return (shown_at_least if total > 1 else shown_at_most)(total, 12)
