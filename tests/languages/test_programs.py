"""Programs as chains: against the same programs run over all their draws by hand."""

from __future__ import annotations

import itertools
import math
import random
import secrets
import time
from collections.abc import Callable, Generator, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.models.labelled_chain import LabelledChain
from symveil.models.limits import LIMITS
from symveil.models.program import Run
from symveil.models.program_steps import Draw, Emit, Hide

Shown = dict[tuple[object, ...], Fraction]


def by_hand(program: Callable[..., Any], value: object) -> Shown:
    """The law of what a generator program shows: every draw is tried, and `hide` is followed at once."""
    law: Shown = {}

    def follow(
        function: Callable[..., Any], arguments: tuple[Any, ...], shown: tuple[object, ...], chance: Fraction
    ) -> None:
        pending: list[tuple[object, ...]] = [()]
        while pending:
            values = list(pending.pop())
            replies: Iterator[object] = iter(values)
            seen, weight, answer = shown, chance, None
            generator = function(*arguments)
            try:
                while True:
                    asked = generator.send(answer)
                    answer = None
                    if isinstance(asked, Draw):
                        chances = dict(asked.law)
                        if (answer := next(replies, pending)) is pending:
                            pending += [(*values, each) for each in chances]
                            break
                        weight *= chances[answer]
                    elif isinstance(asked, Emit):
                        seen = (*seen, asked.value)
                    else:
                        assert isinstance(asked, Hide)
                        follow(asked.function, asked.arguments, seen, weight)
                        break
            except StopIteration as done:
                if isinstance(done.value, Hide):
                    follow(done.value.function, done.value.arguments, seen, weight)
                else:
                    law[seen] = law.get(seen, Fraction(0)) + weight

    follow(program, (value,), (), Fraction(1))
    return law


def of_chain(chain: LabelledChain, state: str) -> dict[tuple[str, ...], Fraction]:
    """The law of the labels after the first, up to the end."""
    rows: dict[str, list[tuple[str, Fraction]]] = {}
    for source, target, chance in chain.transitions:
        rows.setdefault(source, []).append((target, chance))
    law: dict[tuple[str, ...], Fraction] = {}
    layer = {(state, ()): Fraction(1)}
    while layer:
        following: dict[tuple[str, tuple[str, ...]], Fraction] = {}
        for (here, word), mass in layer.items():
            for target, chance in rows[here]:
                if chain.label(target) == "$":
                    law[word] = law.get(word, Fraction(0)) + mass * chance
                else:
                    key = (target, (*word, chain.label(target)))
                    following[key] = following.get(key, Fraction(0)) + mass * chance
        layer = following  # type: ignore[assignment]
    return law


def bits(secret: int) -> Generator[Any, Any, Any]:
    """Two draws with another law each time, branches, a loop, and two shown values or none."""
    first = yield sv.draw({0: "1/3", 1: "2/3"}, name="first")
    total = secret
    for _ in range(2):
        total += yield sv.draw([0, 1, 2])
        if total > 3:
            return
    yield sv.emit((first, total % 2))
    if first:
        return sv.hide(rest, total)
    yield sv.emit("done")


def rest(total: int) -> Generator[Any, Any, Any]:
    if total:
        again = yield sv.draw({True: Fraction(1, 2), False: "0.5"})
        yield sv.emit(again)
        yield sv.hide(rest, total - 1)


@pytest.mark.parametrize("secret", [0, 1, 2])
def test_the_chain_shows_what_the_program_shows(secret: int) -> None:
    chain = sv.unroll(bits, [0, 1, 2])
    expected = {
        tuple(v if isinstance(v, str) else repr(v) for v in word): p for word, p in by_hand(bits, secret).items()
    }
    assert of_chain(chain, f"bits({secret})") == expected
    assert sum(expected.values()) == 1


def test_plain_functions() -> None:
    def plain(run: Run, secret: int) -> object:
        lies = run.draw({0: "3/4", 1: "1/4"}, name="lies")
        run.emit(secret ^ lies)
        if lies:
            run.hide(ending, "x")
            raise AssertionError("what follows is not run")
        return None

    def ending(run: Run, word: str) -> None:
        run.emit(word)

    chain = sv.unroll(plain, [0, 1])
    assert of_chain(chain, "plain(0)") == {("0",): Fraction(3, 4), ("1", "x"): Fraction(1, 4)}
    assert "plain(1): lies=1, emit 0" in chain.states
    assert "ending(x): emit x" in chain.states


def test_loops_without_end_are_solved() -> None:
    """A program that tosses until heads, unseen: a geometric series; and one that may never say anything again."""

    def start(bias: int) -> Generator[Any, Any, Any]:
        yield sv.hide(toss, bias, 0)

    def toss(bias: int, count: int) -> Generator[Any, Any, Any]:
        side = yield sv.draw(
            {"heads": "1/3", "tails": "1/3", "lost": "1/3"} if bias else {"heads": "1/2", "tails": "1/2"}
        )
        if side == "heads":
            yield sv.emit("even" if count == 0 else "odd")
        elif side == "tails":
            yield sv.hide(toss, bias, 1 - count)
        else:
            yield sv.hide(lost)

    def lost() -> Generator[Any, Any, Any]:
        yield sv.hide(lost)

    chain = sv.unroll(start, [0, 1])
    moves = {(source, chain.label(target)): chance for source, target, chance in chain.transitions}
    assert moves["start(0)", "even"] == Fraction(2, 3)
    assert moves["start(0)", "odd"] == Fraction(1, 3)
    # P(even) = 1/3 + 1/9 P(even)
    assert moves["start(1)", "even"] == Fraction(3, 8)
    assert moves["start(1)", "(silence)"] == Fraction(1, 2)
    assert sv.smallest_epsilon(chain, delta=0).infinite


def test_loops_that_show_something_for_ever() -> None:
    def clock(fair: bool) -> Generator[Any, Any, Any]:
        yield sv.emit((yield sv.draw([0, 1] if fair else {0: "1/3", 1: "2/3"})))
        yield sv.hide(clock, fair)

    chain = sv.unroll(clock, [True, False])
    assert "$" not in chain.labels
    assert sv.verify_privacy(chain, alpha=1, horizon=2).delta.lower == Fraction(7, 36)


def test_who_is_related() -> None:
    def same(value: object) -> Generator[Any, Any, Any]:
        yield sv.emit("x")

    assert len(sv.unroll(same, [1, 2, 4]).related) == 3
    assert sv.unroll(same, [1, 2, 4], related=1).related == (("same(1)", "same(2)"),)
    assert sv.unroll(same, [1, 2, 4], related=[(4, 1)]).related == (("same(4)", "same(1)"),)
    far = sv.unroll(same, [(0, 0), (0, 1), (1, 1)], related=lambda one, other: sum(one) + sum(other) == 2)
    assert far.related == (("same((0, 0))", "same((1, 1))"),)
    assert sv.unroll(same, [1, True, "1"]).states[:3] == ("same(1)", "same(1): emit x", "same(True)")


def test_names_and_labels_stay_apart() -> None:
    def loud(value: str) -> Generator[Any, Any, Any]:
        yield sv.emit("⊢" if value == "a" else "$")
        yield sv.emit("(unseen)")
        yield sv.hide(quiet, value)

    def quiet(value: str) -> Generator[Any, Any, Any]:
        yield sv.emit("end")

    chain = sv.unroll(loud, ["a", "b"])
    assert chain.label("loud(a)") == "⊢'"
    assert chain.label("end") == "$'"
    assert chain.labels.count("end") == 2


@pytest.mark.parametrize(
    ("yielded", "message"),
    [
        (5, r"bad(0): expected draw(…), emit(…) or hide(…), found 5"),
        (Hide(len, ([],)), "hide: expected arguments that are hashable, such as tuples, found a list"),
    ],
)
def test_refused_steps(yielded: object, message: str) -> None:
    def bad(value: object) -> Generator[Any, Any, Any]:
        yield yielded

    with pytest.raises((ModelError, ParameterError)) as error:
        sv.unroll(bad, [0])
    assert str(error.value) == message


def test_refused_programs(set_limits) -> None:
    def fickle(value: object) -> Generator[Any, Any, Any]:
        yield sv.draw([next(count), 0])
        yield sv.emit(1)

    count = itertools.count(1)
    with pytest.raises(ModelError, match=r"fickle\(0\): expected the same steps whenever the same values are drawn"):
        sv.unroll(fickle, [0])

    def endless(value: object) -> Generator[Any, Any, Any]:
        while True:
            yield sv.emit(1)

    set_limits(LIMITS, steps=50)
    with pytest.raises(
        ModelError, match=r"endless\(0\): expected at most 50 steps; write a loop that .* `yield hide\(endless, …\)`"
    ):
        sv.unroll(endless, [0])

    def growing(value: int) -> Generator[Any, Any, Any]:
        yield sv.emit(0)
        yield sv.hide(growing, value + 1)

    set_limits(LIMITS, states=50)
    with pytest.raises(TooLargeError, match="expected at most 50 states"):
        sv.unroll(growing, [0])

    def twins(value: object) -> Generator[Any, Any, Any]:
        yield sv.emit(value)

    with pytest.raises(ModelError, match="emit: expected different values that look different, found two of '1'"):
        sv.unroll(twins, [1, "1"])
    with pytest.raises(ParameterError, match="inputs: expected each input once"):
        sv.unroll(twins, [1, 1])
    with pytest.raises(ParameterError, match="inputs: expected at least one input"):
        sv.unroll(twins, [])
    with pytest.raises(ParameterError, match="program: expected a function, found int"):
        sv.unroll(3, [1])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="hide: expected a function and its arguments"):
        sv.hide(3)  # type: ignore[arg-type]

    def returns(value: object) -> Generator[Any, Any, Any]:
        yield sv.emit(1)
        return 7

    with pytest.raises(ModelError, match=r"returns\(0\): expected hide\(…\) or nothing as what is returned, found 7"):
        sv.unroll(returns, [0])
    with pytest.raises(ModelError, match=r"related\[0\]\[1\]: expected one of the inputs, found 9"):
        sv.unroll(twins, [1, 2], related=[(1, 9)])
    for law in ({0: "1/2"}, {0: 2, 1: -1}, "ab", 3, []):
        with pytest.raises(ModelError, match="draw: expected"):
            sv.draw(law)  # type: ignore[arg-type]


# --- programs that have no chain ----------------------------------------------------------------


def test_rejection_loops_are_refused_in_one_line_and_solved_as_functions(set_limits) -> None:
    """`while True` has no last run; the message says where, and the way out gives the exact law."""

    def die(run: Run, truth: int) -> None:
        while True:
            face = 4 * run.draw([0, 1]) + 2 * run.draw([0, 1]) + run.draw([0, 1])
            if face < 6:
                break
        run.emit((face + truth) % 6)

    def late(run: Run, truth: int) -> None:  # all but one value are accepted, and that one comes last
        while run.draw(list(range(40))) == 39:
            pass
        run.emit(truth)

    def shows(truth: int) -> Generator[Any, Any, Any]:
        while (yield sv.draw([True, False])):
            yield sv.emit(truth)

    set_limits(LIMITS, draws=30)
    for program in (die, late, shows):
        with pytest.raises(ModelError) as caught:
            sv.unroll(program, [0, 1])
        name = program.__name__
        assert str(caught.value).startswith(f"{name}(0): expected at most 30 draws in one run; write a loop")
        assert f"`yield hide({name}, …)`: its geometric tail is then a loop of the chain" in str(caught.value)
        assert "\n" not in str(caught.value)

    def thrown(run: Run, truth: int) -> None:
        face = 4 * run.draw([0, 1]) + 2 * run.draw([0, 1]) + run.draw([0, 1])
        if face >= 6:
            run.hide(thrown, truth)
        run.emit((face + truth) % 6)

    chain = sv.unroll(thrown, [0, 1])
    seen: dict[str, Fraction] = {}
    for source, target, chance in chain.transitions:
        if source == "thrown(0)":
            seen[chain.label(target)] = seen.get(chain.label(target), Fraction(0)) + chance
    assert seen == {str(face): Fraction(1, 6) for face in range(6)}
    assert sv.smallest_epsilon(chain, delta=0).alpha == 1


def test_many_runs_are_counted_together(set_limits) -> None:
    def wide(run: Run, truth: int) -> None:
        run.emit(truth + run.draw(list(range(30))) + run.draw(list(range(30))))

    set_limits(LIMITS, all_steps=3000)
    with pytest.raises(ModelError, match=r"wide\(0\): expected at most 3000 steps in all its runs"):
        sv.unroll(wide, [0, 1])


class Noise:
    def __init__(self) -> None:
        self.value = random.random()

    def shown(self, run: Run, truth: int) -> None:
        run.emit(truth + round(self.value))


def _by_global(run: Run, truth: int) -> None:
    run.emit(truth if random.random() < 0.75 else 1 - truth)


def _by_generator(run: Run, truth: int) -> None:
    run.draw([0, 1])
    run.emit(truth if np.random.default_rng().random() < 0.75 else 1 - truth)


def _by_system(run: Run, truth: int) -> None:
    if secrets.randbelow(4):
        run.emit(truth)


def _by_clock(run: Run, truth: int) -> None:
    run.emit(time.perf_counter_ns())


def _in_a_law(run: Run, truth: int) -> None:
    chance = Fraction(random.randrange(1, 100), 100)
    run.emit(run.draw({0: chance, 1: 1 - chance}))


def _in_an_argument(run: Run, truth: int) -> None:
    run.hide(_by_argument, random.random() < 0.5)


def _by_argument(run: Run, argument: object) -> None:
    run.emit(argument)


def _in_a_closure(run: Run, truth: int) -> None:
    noise = random.random()
    run.hide(lambda run: run.emit(noise < 0.5))


def _in_a_method(run: Run, truth: int) -> None:
    run.hide(Noise().shown, truth)


def _in_a_partial(run: Run, truth: int) -> None:
    run.hide(partial(_by_argument, argument=random.random()))


def _in_what_is_returned(truth: int) -> Generator[Any, Any, Any]:
    yield sv.emit(1)
    return sv.hide(_by_argument, random.random() < 0.5)


def _by_memory(run: Run, truth: int) -> None:
    MEMORY.append(truth)
    run.emit(len(MEMORY))


def _hardly_ever(run: Run, truth: int) -> None:
    if random.random() < 1e-6:
        run.emit(truth)


MEMORY: list[int] = []


@pytest.mark.parametrize(
    "program",
    [
        _by_global, _by_generator, _by_system, _by_clock, _in_a_law, _in_an_argument, _in_a_closure, _in_a_method,
        _in_a_partial, _in_what_is_returned, _by_memory, _hardly_ever,
    ],
    ids=lambda program: program.__name__,
)  # fmt: skip
def test_programs_with_chance_of_their_own_are_refused(program: Any) -> None:
    """False alarms: none. A program that varies with p = 1/4 in each run is missed once in 10^7 times."""
    state = random.getstate()
    with pytest.raises(ModelError) as caught:
        sv.unroll(program, [0, 1])
    assert str(caught.value).startswith(f"{program.__name__}(0): expected ")
    assert "draw(…)" in str(caught.value)
    assert "\n" not in str(caught.value)
    random.setstate(state)


def test_what_is_made_anew_in_every_run_is_no_chance() -> None:
    class Plain:
        def __init__(self, value: int) -> None:
            self.value = value

        def shown(self, run: Run) -> None:
            run.emit(self.value)

    def program(run: Run, truth: int) -> None:
        generator = random.Random(7)  # seeded: the same in every run
        value = truth + run.draw([0, 1]) + generator.randrange(3)

        def inner(run: Run, depth: int) -> None:
            if depth < 3:
                run.hide(inner, depth + 1)
            run.hide(Plain(value).shown)

        run.draw({(Plain(1), math.nan): "1/2", "b": "1/2"})
        run.emit(np.arange(3))
        run.hide(inner, 0)

    assert len(sv.unroll(program, [0, 1]).states) > 4
