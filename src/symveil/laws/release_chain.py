"""A mechanism as a labelled chain: started in the state of a word, it shows the released word label by label.

A verifier that reads this chain needs to know nothing about the mechanism, its analysis or its code. The
probabilities of a mechanism are real numbers such as e^{−η}; those of a chain are rationals. So the chain
has a law of its own, and `log_error` bounds how far it can be from the mechanism's, for every word that
can be released: |ln P_chain(u|w) − ln P(u|w)| ≤ log_error. Anyone who proves something about the chain pays for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from symveil.errors import TooLargeError
from symveil.models.alphabet import Alphabet
from symveil.models.labelled_chain import END_LABEL, START_LABEL, LabelledChain, Pair
from symveil.models.names import unlike
from symveil.numbers.conversions import upper_bound

MOST_STATES = 200_000

# Weights are rounded to this many bits: far below anything that a verdict shows.
WEIGHT_BITS = 128
WEIGHT_PRECISION = 256

State = tuple[object, ...]
Moves = Callable[[State], Iterable[tuple[int, State, Fraction]]]
"""The moves of a release in progress: (symbol to release, or ENDS or GOES_ON; state after it; probability)."""

ENDS, GOES_ON = -1, -2
"""Instead of a symbol: the released word ends here; or it goes on, but no more of it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChain:
    """The chain, the state in which each word starts, and how far its law is from the mechanism's."""

    chain: LabelledChain
    starts: tuple[str, ...]
    log_error: Fraction


def release_chain(
    alphabet: Alphabet, length: int, moves: Sequence[tuple[State, Moves]], *, log_error: Fraction
) -> ReleaseChain:
    """One chain for several words, each given by its first state and its moves; all starts are related.

    States are numbered and say nothing about the words; labels are the released symbols. After `length` of
    them every word ends; before that it ends where a move says so.
    """
    label_of = label_names(alphabet)
    last = {
        ENDS: (END_LABEL_STATE, unlike(END_LABEL, label_of)),
        GOES_ON: (MORE_LABEL_STATE, unlike(MORE_LABEL, label_of)),
    }
    goes_on = False
    rows: list[tuple[str, str, Fraction]] = []
    labels: dict[str, str] = {}
    starts: list[str] = []
    for number, (start, step) in enumerate(moves, start=1):
        name = f"word {number}"
        starts.append(name)
        labels[name] = START_LABEL
        layer: dict[tuple[int, State], str] = {(-1, start): name}
        for position in range(1, length + 1):
            following: dict[tuple[int, State], str] = {}
            for (_, state), source in layer.items():
                for symbol, target, chance in step(state):
                    if symbol in last:
                        rows.append((source, last[symbol][0], chance))
                        goes_on |= symbol == GOES_ON
                        continue
                    key = (symbol, target)
                    if key not in following:
                        following[key] = f"{number}.{position}.{len(following) + 1}"
                        labels[following[key]] = label_of[symbol]
                    rows.append((source, following[key], chance))
            layer = following
            if len(labels) > MOST_STATES:
                raise TooLargeError(
                    f"chain of the mechanism: expected at most {MOST_STATES} states, found more; use fewer words, a "
                    "shorter length or a smaller alphabet"
                )
        rows += [(source, END_LABEL_STATE, Fraction(1)) for source in layer.values()]
    for symbol in (ENDS, GOES_ON) if goes_on else (ENDS,):
        name, label = last[symbol]
        labels[name] = label
        rows.append((name, name, Fraction(1)))
    related: list[Pair] = [(a, b) for place, a in enumerate(starts) for b in starts[place + 1 :]]
    chain = LabelledChain.from_transitions(
        rows, labels=labels, states=tuple(labels), related=related if len(starts) <= _MOST_RELATED else ()
    )
    return ReleaseChain(chain=chain, starts=tuple(starts), log_error=log_error)


def label_names(alphabet: Alphabet) -> list[str]:
    """A label for each symbol: the symbol itself where all are strings, so that no two labels are alike."""
    if all(isinstance(symbol, str) for symbol in alphabet.symbols):
        return [str(symbol) for symbol in alphabet.symbols]
    return [repr(symbol) for symbol in alphabet.symbols]


END_LABEL_STATE, MORE_LABEL_STATE, MORE_LABEL = "end", "more", "…"
_MOST_RELATED = 50  # words; beyond, pairs are asked for by name


def rounded_weight(weight: arb) -> tuple[Fraction, Fraction]:
    """A positive rational near a ball, and a bound on |ln| of their quotient."""
    mantissa, exponent = weight.mid().man_exp()
    digits, shift = int(mantissa), int(exponent)
    spare = digits.bit_length() - WEIGHT_BITS
    if spare > 0:
        digits, shift = digits >> spare, shift + spare
    near = Fraction(digits) * Fraction(2) ** shift
    quotient = weight / arb(near.numerator) * arb(near.denominator)
    return near, upper_bound(abs(quotient.log()))
