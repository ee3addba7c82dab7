"""Online release: one symbol in, one symbol out at once, always feasible (docs/mechanisms.md).

From the last *released* state y with D possible successors, one of them is preferred: it is released
with probability e^η/(e^η+D−1), each other one with 1/(e^η+D−1). The preferred one is the true symbol
if it is possible. If it is not, the release has left the word's path, and with steering it prefers the
successor from which the true symbol is the fewest steps away (else none: a uniform successor).

Whatever is preferred, a successor's probability differs by at most e^η between two true symbols, and
by nothing where the true symbols agree. So the loss is at most bη: η = ε/b needs no factor 2 and no
certificate. Successors are trimmed for the public number of symbols to come, so the release never
gets stuck.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError, WordError
from symveil.languages.graph import WordGraph
from symveil.languages.language import Language, require_language
from symveil.languages.runs import RunLanguage, endless
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import WEIGHT_PRECISION, DistanceLaw, Moves, State, rounded_weight
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.law import Law
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online_batch import OnlineBatch, steps_to_each
from symveil.models.alphabet import Codes, Lengths, Symbol, as_rows, is_hashable
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import Memo, computed_once
from symveil.numbers.rationals import Number, at_least, spelled
from symveil.randomness import BitSource, Boundaries, system_bits, uniform_integer
from symveil.trellis.passes import Trellis, backward
from symveil.trellis.semirings import LOGARITHMS, ByDistance


class Online(Mechanism):
    """The online mechanism on the words of a model.

    Parameters
    ----------
    language
        The words of a model, such as `runs(...)`.
    epsilon
        Privacy budget: a number, a decimal or a fraction as text, above 0.
    adjacency
        How far apart words may be that are to look alike: a whole number, or "all". None: 1 over an alphabet; on a
        model it has to be given.
    steering
        Whether a release that has left the path of the word prefers symbols that lead back to it.

    >>> import symveil as sv
    >>> from symveil.models.markov_chain import MarkovChain
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> mechanism = Online(sv.runs(chain, length=5), epsilon=3, adjacency=1)
    >>> session = mechanism.start(length=5)
    >>> released = [session.step(symbol) for symbol in "abaab"]
    >>> mechanism.guarantee
    Guarantee(epsilon=3.0, how='certified')
    """

    name = "online"
    label: ClassVar[str] = "online (symbol by symbol)"

    def __init__(
        self,
        language: Language,
        *,
        epsilon: Number,
        adjacency: Adjacency | None = None,
        steering: bool = True,
    ) -> None:
        require_language(language)
        runs = language.runs
        if runs is None:
            raise ParameterError(
                "language", expected="runs(model, length); on words(…) exponential is online already", found="words(…)"
            )
        super().__init__(language, epsilon=epsilon, adjacency=adjacency, calibration="tight")
        self._runs = runs
        self._whole_words = adjacency == "all"
        # steps to a symbol are steps to a state only where symbols are states
        self.steering: Final = steering and runs.graph.state_is_symbol

    @property
    def public_start(self) -> bool:
        """Whether the first symbol is kept as it is."""
        return self._runs.public_start

    def _calibrated(self, claimed: Law | None) -> Law:
        """At most η = ε/b for each of the b positions where two adjacent words differ.

        Whatever the length: a session may be longer than the words of the language.
        """
        rate = self.epsilon / self.adjacency if claimed is None or claimed.rate is None else claimed.rate
        return self._law_with(Guarantee.of_loss(rate * self.adjacency, "certified"), rate=rate)

    @property
    def rate(self) -> Fraction:
        """η."""
        assert self.law.rate is not None  # noqa: S101 - every such law has one
        return self.law.rate

    def _loss_beyond(self, distance: int) -> float:
        """η for every place in which words differ, on every model."""
        return at_least(self.rate * distance)

    def start(self, *, length: int | None = None, bits: BitSource | None = None) -> Session:
        """A session that takes one symbol and returns one at once.

        `length` is the public number of symbols to come; without it only states that can go on
        for ever are visited. The true symbols are not checked against the model: a refusal in the middle
        of a stream would be seen, and would tell something about them.
        """
        graph = self._runs.graph
        if self._whole_words and (length is None or length > self._runs.length):
            raise ParameterError(
                "length",
                expected=f'at most {self._runs.length}, the length that adjacency "all" was spread over',
                found="an open end" if length is None else length,
            )
        if length is None:
            alive = [endless(graph)]
            if not alive[0][graph.start]:
                raise ParameterError("length", expected="a length, because no run goes on for ever", found="none")
        elif length == self._runs.length:
            alive = self._runs.alive
        else:
            alive = RunLanguage(graph=graph, length=length, public_start=self._runs.public_start).alive
        return Session(self, graph, alive, length, bits or system_bits())

    def parameters_document(self) -> dict[str, object]:
        """The rate, and whether a release that has left the path is steered back."""
        return {"rate": spelled(self.rate), "steering": self.steering}

    # --- one step ------------------------------------------------------------------------------

    def successors(self, state: int, alive: NDArray[np.bool_]) -> list[int]:
        """The edges from a state along which a word can still be completed."""
        graph = self._runs.graph
        return [edge for edge in graph.edges(state) if alive[graph.target[edge]]]

    def preferred(self, options: list[int], own: int) -> int | None:
        """The place among `options` of the edge to prefer for the true symbol `own`; None: all alike."""
        graph = self._runs.graph
        for index, edge in enumerate(options):
            if graph.symbol[edge] == own:
                return index
        if not self.steering:
            return None
        steps = self._steps_to[own]
        return min(range(len(options)), key=lambda index: steps[graph.target[options[index]]])

    @computed_once
    def _steps_to(self) -> Memo[int, NDArray[np.int32]]:
        return Memo(lambda symbol: steps_to_each(self._runs.graph, np.array([symbol]))[:, 0])

    def keep_choice(self, options: int) -> Boundaries:
        """Piece 0: the preferred successor, with probability e^η/(e^η+D−1)."""
        return self._keep_choices[options]

    @computed_once
    def _keep_choices(self) -> Memo[int, Boundaries]:
        return Memo(lambda options: Boundaries(lambda: [self._keep_chance(options)]))

    def _keep_chance(self, options: int) -> arb:
        growth = ball(self.rate).exp()
        return growth / (growth + options - 1)

    def step_law(self, state: int, alive: NDArray[np.bool_]) -> tuple[list[int], NDArray[np.float64]]:
        """The edges that may be released next, and the chance of each: a row for each true symbol.

        `alive` are the states from which the released word, now in `state`, can still be completed after this step.

        >>> import symveil as sv
        >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
        >>> language = sv.runs(chain, length=2)
        >>> edges, chances = sv.Online(language, epsilon="1", adjacency=1).step_law(0, language.alive[0])
        >>> len(edges), chances.round(3).tolist()
        (2, [[0.731, 0.269], [0.269, 0.731]])
        """
        options = self.successors(state, alive)
        positions = [self.preferred(options, own) for own in range(len(self.alphabet))]
        logs = [
            [self._log_step(len(options), None if best is None else best == index) for index in range(len(options))]
            for best in positions
        ]
        return options, np.exp(logs)

    # --- whole words ---------------------------------------------------------------------------

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        rows = as_rows(codes, lengths, self._runs.length)
        if len(rows) < LIMITS.now.online_rows:
            return self._draw_by_sessions(rows, bits).reshape(-1), lengths
        batch = OnlineBatch(self._runs, self.keep_choice, steering=self.steering)
        return batch.draw(rows, bits).reshape(-1), lengths

    def _draw_by_sessions(self, rows: Codes, bits: BitSource) -> Codes:
        symbols = self.alphabet
        released = rows.copy()
        for row, word in enumerate(rows.tolist()):
            session = self.start(length=self._runs.length, bits=bits.of_row(row))
            released[row] = [symbols.code[session.step(symbols.symbols[code])] for code in word]
        return released

    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word): the sum of its steps."""
        return np.array([sum(self._log_steps(word, row)) for row in released])

    def _log_steps(self, word: Codes, released: Codes) -> Iterator[float]:
        graph, alive = self._runs.graph, self._runs.alive
        state = graph.start
        for position, (own, out) in enumerate(zip(word.tolist(), released.tolist(), strict=True)):
            options = self.successors(state, alive[self._runs.length - position - 1])
            edge = next((edge for edge in options if graph.symbol[edge] == out), None)
            public = position == 0 and self._runs.public_start
            if edge is None or (public and out != own):
                yield -np.inf
                return
            if not public:
                index = self.preferred(options, own)
                yield self._log_step(len(options), None if index is None else options[index] == edge)
            state = int(graph.target[edge])

    def _log_step(self, options: int, preferred: bool | None) -> float:
        """ln of the chance of one successor, given whether it is the preferred one; None: there is none."""
        return self._log_steps_of[options, preferred]

    @computed_once
    def _log_steps_of(self) -> Memo[tuple[int, bool | None], float]:
        def log_chance(key: tuple[int, bool | None]) -> float:
            options, preferred = key
            with precision(STANDARD_PRECISION):
                if preferred is None:
                    chance = arb(1) / options
                else:
                    chance = self._keep_chance(options) * (arb(1) if preferred else (-ball(self.rate)).exp())
                return nearest_float(chance.log())

        return Memo(log_chance)

    def _law(self, codes: Codes | None) -> DistanceLaw:
        """By a backward pass over the released state and the errors to come."""
        assert codes is not None  # noqa: S101 - `distances` refuses to be called without a word on a model
        graph, length = self._runs.graph, self._runs.length
        by_errors = ByDistance(LOGARITHMS)  # nothing is lost to underflow
        steps = Trellis(
            edges=graph,
            length=length,
            semiring=by_errors,
            final=by_errors.ends(graph.accepting),
            worth=lambda position: (graph.symbol != codes[position], self._log_chances(position, int(codes[position]))),
        )
        logs = backward(steps)[0][graph.start]
        distances = np.flatnonzero(np.isfinite(logs))
        return DistanceLaw(
            distances=distances,
            all_counts=self._runs.around(codes).counts,
            probabilities=np.exp(logs[distances]),
            log_probabilities=logs[distances],
            expected_error=float(np.exp(logs[distances]) @ distances),
            length=length,
        )

    def _log_chances(self, position: int, own: int) -> NDArray[np.float64]:
        """ln of the chance of every edge at a position, given the true symbol."""
        graph, alive = self._runs.graph, self._runs.alive[self._runs.length - position - 1]
        logs = np.full(graph.edge_count, -np.inf)
        if position == 0 and self._runs.public_start:
            logs[alive[graph.target] & (graph.symbol == own)] = 0.0
            return logs
        for state in range(graph.state_count):
            options = self.successors(state, alive)
            if options:
                best = self.preferred(options, own)
                for index, edge in enumerate(options):
                    logs[edge] = self._log_step(len(options), None if best is None else best == index)
        return logs

    # --- for verifiers -------------------------------------------------------------------------

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        del shown
        with precision(WEIGHT_PRECISION):
            growth, error = rounded_weight(ball(self.rate).exp())
        graph, alive, length = self._runs.graph, self._runs.alive, self._runs.length
        word = codes.tolist()

        def moves(state: State) -> Iterator[tuple[int, State, Fraction]]:
            position, index = (int(str(part)) for part in state)
            own = word[position]
            options = self.successors(index, alive[length - position - 1])
            public = position == 0 and self._runs.public_start
            best = self.preferred(options, own)
            for number, edge in enumerate(options):
                symbol = int(graph.symbol[edge])
                if public and symbol != own:
                    continue
                if public:
                    chance = Fraction(1)
                elif best is None:
                    chance = Fraction(1, len(options))
                else:
                    chance = (growth if number == best else Fraction(1)) / (growth + len(options) - 1)
                yield symbol, (position + 1, int(graph.target[edge])), chance

        # in each step an error of that size above the line, and another one below it
        return (0, graph.start), moves, 2 * length * error


class Session:
    """One online release: `step` takes the next true symbol and returns a released one at once."""

    def __init__(
        self,
        mechanism: Online,
        graph: WordGraph,
        alive: list[NDArray[np.bool_]],
        length: int | None,
        bits: BitSource,
    ) -> None:
        self._mechanism = mechanism
        self._graph = graph
        self._alive = alive
        self._remaining = length
        self._bits = bits
        self._state = graph.start
        self._taken = 0
        self._public_start = mechanism.public_start

    def step(self, symbol: Symbol) -> Symbol:
        """The released symbol for the next true symbol."""
        own = self._graph.alphabet.code.get(symbol) if is_hashable(symbol) else None
        if own is None:
            raise WordError(
                f"symbol: expected a symbol of the model, found another one at position {self._taken + 1}",
                position=self._taken + 1,
            )
        if self._remaining == 0:
            raise WordError(f"session: expected {self._taken} symbols, which is its public length, found one more")
        alive = self._alive[0] if self._remaining is None else self._alive[self._remaining - 1]
        options = self._mechanism.successors(self._state, alive)
        edge = self._choose(options, own)
        self._state = int(self._graph.target[edge])
        self._taken += 1
        if self._remaining is not None:
            self._remaining -= 1
        return self._graph.alphabet.symbols[int(self._graph.symbol[edge])]

    def _choose(self, options: list[int], own: int) -> int:
        index = self._mechanism.preferred(options, own)
        if self._taken == 0 and self._public_start:
            if index is None or self._graph.symbol[options[index]] != own:
                raise WordError("symbol: expected a first symbol that the model allows, found another one", position=1)
            return options[index]
        if index is None:
            return options[uniform_integer(len(options), self._bits)]
        keep = self._mechanism.keep_choice(len(options)).pick(self._bits.words(1), self._bits)[0] == 0
        if keep or len(options) == 1:
            return options[index]
        others = options[:index] + options[index + 1 :]
        return others[uniform_integer(len(others), self._bits)]
