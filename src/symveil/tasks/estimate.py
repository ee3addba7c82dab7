"""Statistics of the true sequences, from a private file and its manifest, at no further privacy cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import get_args

import numpy as np

from symveil.calibration.edit_channel import ChannelParameters
from symveil.errors import InputError, ParameterError
from symveil.estimation.edit_tables import EditLengths, EditNoise, EditTables, lengths_can_be_estimated
from symveil.estimation.iterated import OwnStatistic
from symveil.estimation.limits import LIMITS
from symveil.estimation.named_table import Estimate, Method
from symveil.estimation.statistics import Statistic, read_statistic
from symveil.estimation.substitution_noise import SubstitutionNoise
from symveil.estimation.substitution_tables import LengthTable, Presence, SubstitutionTables, useful_length
from symveil.estimation.table import EstimatedTable, Target, group_count
from symveil.formats.sequences.frames import Table
from symveil.languages.graph import Model
from symveil.mechanisms.edit_channel import EditChannel
from symveil.release.private_file import PrivateFile
from symveil.release.rerelease import noise_of, noise_of_mechanism
from symveil.release.spec import LocalSpec
from symveil.tasks.estimate_runs import (
    DURATIONS,
    TIMED,
    chain_table,
    estimate_times,
    iterated_vectors,
    run_table,
    table_shape,
)
from symveil.tasks.limits import LIMITS as TASK_LIMITS

LEFT_OUT = 0.05
"""The largest share of sequences that may be left out because nothing can be said about their lengths."""


def estimate(
    path: str | Path | Table,
    statistic: str,
    *,
    manifest: str | Path | None = None,
    model: Model | str | Path | None = None,
    target: str = "file",
    cluster: str | None = None,
    confidence: float = 0.95,
    assume: str | None = None,
    by: str | None = None,
) -> Estimate:
    """Statistics of the true sequences behind a private file, with intervals.

    Parameters
    ----------
    path
        The private file, or the folder that Spark wrote; or a private table in memory: a DataFrame of pandas or polars,
        or an Arrow table.
    statistic
        visits, first, last, positions, ngrams:K, transitions, od, lengths, presence, or directly-follows; of a release
        with private waits durations.
    manifest
        The manifest, if it does not lie beside the private file. A table of pandas as `privatize` returned it has its
        own in `.attrs`.
    model
        The model, or its file, if it does not lie beside the manifest.
    target
        "file": the true statistics of these sequences; "population": those of as many sequences like them.
    cluster
        A column of the private file that says which sequences belong together, such as those of one person. It must
        have been kept by the release (`keep`).
    confidence
        How often intervals are to cover.
    assume
        "chain", for releases by the mechanism online: that the true sequences are drawn from a first-order Markov
        chain on the model's states. The estimate is then the most likely one; without it nothing is assumed.
    by
        Of a release with private times: "hour" or "hour-of-week" with visits; "activity" with durations.

    >>> import pathlib, tempfile
    >>> import symveil as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder, "visits.csv")
    ...     _ = source.write_text("id,pages\\n" + "".join(f"{i},a b a\\n" for i in range(500)))
    ...     release = sv.privatize_file(source, source.with_name("private.csv"), alphabet="abc", epsilon=3)
    ...     answer = sv.estimate(release.out, "ngrams:2", confidence=0.999999)
    >>> answer.method, answer.row(0)["low_all"] < 500 < answer.row(0)["high_all"]
    ('exact-unbiased', True)

    Of a table in memory:

    >>> import pandas as pd
    >>> private = sv.privatize(pd.DataFrame({"id": range(500), "pages": ["a b a"] * 500}), alphabet="abc", epsilon=3)
    >>> answer = sv.estimate(private, "visits", confidence=0.999999)
    >>> answer.row(0)["low_all"] < 1000 < answer.row(0)["high_all"], len(answer.to_pandas())
    (True, 3)
    """
    if by is None and statistic != DURATIONS:
        wanted = read_statistic(statistic)
    else:
        wanted = _read_timed(statistic, by)
    if target not in get_args(Target):
        raise ParameterError("target", expected="file or population", found=target)
    _check_confidence(confidence)
    if assume not in (None, "chain"):
        raise ParameterError("assume", expected="chain, or nothing", found=assume)
    released = PrivateFile.open(path, manifest=manifest, model=model, cluster=cluster)
    goal: Target = "population" if target == "population" else "file"
    with released.as_file_errors():
        if wanted.kind == TIMED:
            return estimate_times(released, wanted, by, target=target, assume=assume, confidence=confidence)
        if assume is not None:
            return _assuming_a_chain(released, wanted, goal, confidence)
        edited = released.release.mechanism.name == EditChannel.name
        if not edited and released.document["parameters"]["metric"] == "levenshtein":
            raise InputError(
                "estimate: expected the edit channel where lengths are secret, found truncated-levenshtein, whose "
                "noise cannot be undone"
            )
        _require_sequences(released)
        if edited:
            return _edited(released, wanted, goal, confidence)
        if released.release.model is not None and wanted.kind != "lengths":
            return _on_model(released, wanted, goal, confidence)
        return _free(released, wanted, goal, confidence)


def estimate_statistic(
    path: str | Path | Table,
    function: OwnStatistic,
    *,
    manifest: str | Path | None = None,
    model: Model | str | Path | None = None,
    cluster: str | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """A statistic of your own of the true sequences behind a private file, by releasing it again.

    Parameters
    ----------
    path
        The private file, or the folder that Spark wrote; or a private table in memory.
    function
        From a list of words (tuples of symbols) to a list of numbers, which add up over words: how often something
        occurs, not how often on average.
    manifest, model, cluster, confidence
        As in `estimate`.

    >>> import pathlib, tempfile
    >>> import symveil as sv
    >>> def returns(words):
    ...     return [sum(word[0] == word[-1] for word in words)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder, "true.csv")
    ...     _ = source.write_text("id,trip\\n" + "".join(f"{i},a b a\\n" for i in range(300)))
    ...     release = sv.privatize_file(source, source.with_name("private.csv"), alphabet="ab", epsilon=5)
    ...     answer = sv.estimate_statistic(release.out, returns)
    >>> answer.method, abs(answer.row(0)["estimate"] - 300) < 30
    ('iterated-release', True)
    """
    _check_confidence(confidence)
    released = PrivateFile.open(path, manifest=manifest, model=model, cluster=cluster)
    with released.as_file_errors():
        document = released.document
        if document["parameters"]["metric"] == "levenshtein":
            raise InputError("estimate: expected a release that keeps lengths (metric hamming), found another one")
        _require_sequences(released)
        if released.release.times is not None and released.release.times.joint:
            raise InputError(
                "estimate: expected a statistic by name where symbols are released with their times, found a function"
            )
    table = iterated_vectors(released, function).table()
    table = replace(table, consistent=table.estimate, least=-np.inf, leading="index")
    wanted = Statistic(getattr(function, "__name__", "statistic"), "own", 0)
    return _named(released, wanted, table, "file", confidence, released.assumptions(), "iterated-release")


def _read_timed(statistic: str, by: str | None) -> Statistic:
    """A statistic of times; refused where there is none of that name by that."""
    choices = {"visits": ("hour", "hour-of-week"), DURATIONS: (None, "activity")}
    if statistic not in choices:
        raise ParameterError("by", expected="visits by hour, or durations by activity", found=f"{statistic} by {by}")
    if by not in choices[statistic]:
        listed = " or ".join(each for each in choices[statistic] if each is not None)
        raise ParameterError("by", expected=f"{listed} with {statistic}", found=by)
    return Statistic(statistic if by is None else f"{statistic} by {by}", TIMED, 1)


def _require_sequences(released: PrivateFile) -> None:
    if not released.count:
        raise InputError("estimate: expected at least one sequence in the private file, found none")


def _check_confidence(confidence: float) -> None:
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ParameterError("confidence", expected="a number between 0 and 1 such as 0.95", found=confidence)


# --- words over an alphabet ---------------------------------------------------------------------


def _free(released: PrivateFile, wanted: Statistic, target: Target, confidence: float) -> Estimate:
    assumptions = released.assumptions()
    if wanted.kind == "lengths":
        assumptions.append("lengths are public in this release, and exact")
        lengths = LengthTable(target=target, groups=group_count(released.units(), 2000))
        return _named(released, wanted, released.into(lengths).finish(), target, confidence, assumptions)
    noise = noise_of(released.release, released.document)
    if wanted.kind == "presence":
        table, notes = _presence(released, noise, target, confidence)
    else:
        table, notes = _counted(released, wanted, noise, target)
    return _named(released, wanted, table, target, confidence, assumptions + notes)


def _on_model(released: PrivateFile, wanted: Statistic, target: Target, confidence: float) -> Estimate:
    """Words of a model: by releasing them again."""
    table, notes = run_table(released, wanted)
    return _named(released, wanted, table, target, confidence, released.assumptions() + notes, "iterated-release")


def _assuming_a_chain(released: PrivateFile, wanted: Statistic, target: Target, confidence: float) -> Estimate:
    if wanted.kind == "lengths":
        raise ParameterError("assume", expected="nothing for lengths, which are public", found="chain; leave it out")
    table, notes = chain_table(released, wanted)
    return _named(released, wanted, table, target, confidence, notes + released.assumptions(), "chain-assumed")


def _named(
    released: PrivateFile,
    wanted: Statistic,
    table: EstimatedTable,
    target: Target,
    confidence: float,
    notes: list[str],
    method: Method = "exact-unbiased",
) -> Estimate:
    """The table with names, and what it rests on."""
    if target == "population":
        notes.append(f"{released.what_units_are} are a random sample of the population, independent of each other")
    return Estimate.of(
        wanted,
        table,
        symbols=released.release.alphabet.symbols,
        method=method,
        target=target,
        confidence=confidence,
        assumptions=notes,
    )


def _counted(
    released: PrivateFile, requested: Statistic, noise: SubstitutionNoise, target: Target
) -> tuple[EstimatedTable, list[str]]:
    shape = table_shape(released, requested)
    longest = shape[0] if requested.leading else 0
    numbers = SubstitutionTables.numbers_per_group(requested, noise, longest=longest)
    groups = group_count(released.units(), numbers)
    tables = SubstitutionTables(requested, noise, target=target, groups=groups, longest=longest)
    lengths: Counter[int] = Counter()
    unusable: set[int] = set()
    for batch in released.batches(groups):
        wanted = np.ones(len(batch.lengths), dtype=np.bool_)
        different, counts = np.unique(batch.lengths, return_counts=True)
        for length, count in zip(different.tolist(), counts.tolist(), strict=True):
            lengths[length] += count
            if not noise.usable(requested.order, length, sequences=released.count):
                unusable.add(length)
                wanted &= batch.lengths != length
        tables.add(batch.only(wanted))
    left_out = sum(lengths[length] for length in unusable)
    if left_out > LEFT_OUT * released.count:
        raise _unusable(released, requested, lengths, unusable, noise)
    notes = []
    if unusable:
        named = ", ".join(map(str, sorted(unusable)[:10])) + (" …" if len(unusable) > 10 else "")
        notes.append(f"{left_out} sequences are left out, whose noise cannot be undone: those of length {named}")
    return tables.finish(), notes


def _unusable(
    released: PrivateFile, wanted: Statistic, lengths: Counter[int], unusable: set[int], noise: SubstitutionNoise
) -> InputError:
    """The refusal where an eigenvalue is too close to 0, with the epsilon that would have been enough."""

    def enough(release: LocalSpec) -> bool:
        other = noise_of_mechanism(release.mechanism)
        spare = LEFT_OUT * released.count
        for length, count in lengths.most_common():
            if spare < 0:
                return False
            if not other.usable(wanted.order, length, sequences=released.count):
                spare -= count
        return spare >= 0

    smallest = min(
        abs(noise.eigenvalue(order, length)) for length in unusable for order in range(1, min(wanted.order, length) + 1)
    )
    return InputError(
        f"estimate: expected noise that leaves at least {LIMITS.now.least_eigenvalue} of a table of order "
        f"{wanted.order}, found {smallest:.2g}: nothing can be said about {wanted.name} from this release; "
        f"{_enough_epsilon(released, enough)}"
    )


def _enough_epsilon(released: PrivateFile, enough: Callable[[LocalSpec], bool]) -> str:
    """Which epsilon, on a grid of halves, would have been enough with everything else as it is."""
    release, own = released.release, released.release.choice.epsilon
    if release.times is not None:
        return "a larger epsilon, or more sequences, can be enough"
    for step in range(1, 2 * TASK_LIMITS.now.epsilon + 1):
        epsilon = Fraction(step, 2)
        if epsilon <= own:
            continue
        other = LocalSpec.from_choice(replace(release.choice, epsilon=epsilon), alphabet=release.alphabet, model=None)
        if enough(other):
            return f"epsilon {float(epsilon):g} would have been enough"
    return f"no epsilon up to {TASK_LIMITS.now.epsilon} would have been enough; use mechanism exponential"


def _presence(
    released: PrivateFile, noise: SubstitutionNoise, target: Target, confidence: float
) -> tuple[EstimatedTable, list[str]]:
    lengths = _length_counts(released)
    mixed = [length for length in lengths if length and not noise.is_product(length)]
    if mixed:
        raise InputError(
            "estimate: expected a release that draws symbols independently of each other for presence (mechanism "
            f"exponential, utility distance), found {released.document['mechanism']} with utility "
            f"{released.document['parameters']['utility']}"
        )

    def useful(other: SubstitutionNoise) -> list[int]:
        return [
            length for length, count in lengths.items() if length and useful_length(other, length, count, confidence)
        ]

    known = useful(noise)
    if not known:
        raise InputError(
            "estimate: expected sequences short enough for presence at this epsilon, found none whose interval would "
            f"be of use; {_enough_epsilon(released, lambda other: bool(useful(noise_of_mechanism(other.mechanism))))}"
        )
    longest = max(known)
    groups = group_count(released.units(), (longest + 1) * noise.symbols)
    table = released.into(Presence(noise, target=target, groups=groups, longest=longest, confidence=confidence))
    sequences = sum(lengths[length] for length in known)
    rest = sum(count for length, count in lengths.items() if length) - sequences
    notes = []
    if rest:
        notes.append(f"{rest} sequences are left out: for their lengths intervals would be of no use")
    return table.finish(), notes


def _length_counts(released: PrivateFile) -> Counter[int]:
    results: Counter[int] = Counter()
    for _, lengths in released.words():
        different, counts = np.unique(lengths, return_counts=True)
        results.update(dict(zip(different.tolist(), counts.tolist(), strict=True)))
    return results


# --- edit channels ------------------------------------------------------------------------------


def _edited(released: PrivateFile, wanted: Statistic, target: Target, confidence: float) -> Estimate:
    """Words whose symbols were inserted, deleted and substituted."""
    assumptions, m = released.assumptions(), len(released.release.alphabet)
    channel = _parameters(released.release)
    assert channel is not None  # noqa: S101 - an edit channel has them
    noise = None if channel.tells_nothing or channel.deletion == 1 else EditNoise.of(channel, m)
    if wanted.kind == "lengths":
        return _edited_lengths(released, wanted, target, confidence, channel)
    if noise is None or not noise.usable:
        unchanged = 0.0 if noise is None else noise.unchanged
        raise InputError(
            f"estimate: expected an edit channel that keeps at least {LIMITS.now.least_unchanged} of a symbol and "
            f"deletes less than half of them, found {unchanged:.2g} and {float(channel.deletion):.2g}: nothing can be "
            f"said about {wanted.name} from this release; {_enough_epsilon(released, _keeps_enough)}"
        )
    groups = max(1, group_count(released.units(), int(m**wanted.order)))
    tables = released.into(EditTables(wanted, noise, target=target, groups=groups))
    return _named(released, wanted, tables.finish(), target, confidence, assumptions)


def _edited_lengths(
    released: PrivateFile, wanted: Statistic, target: Target, confidence: float, channel: ChannelParameters
) -> Estimate:
    groups = max(1, group_count(released.units(), 1))
    lengths = released.into(EditLengths(channel, target=target, groups=groups, confidence=confidence))
    if not lengths_can_be_estimated(channel, lengths.released, confidence):

        def enough(release: LocalSpec) -> bool:
            other = _parameters(release)
            if other is None or other.deletion >= Fraction(1, 2):
                return False
            # lengths of words without a single symbol of the true ones say nothing about those of another release
            return channel.deletion == 1 or lengths_can_be_estimated(other, lengths.released, confidence)

        raise InputError(
            "estimate: expected an edit channel that deletes less than half of the symbols, with an interval narrower "
            f"than a tenth of the sequences for some length, found {float(channel.deletion):.2g} deleted: nothing can "
            f"be said about lengths from this release; {_enough_epsilon(released, enough)}"
        )
    return _named(released, wanted, lengths.finish(), target, confidence, released.assumptions())


def _parameters(release: LocalSpec) -> ChannelParameters | None:
    """The parameters that an edit channel has, found again where they were not given; None for other mechanisms."""
    mechanism = release.mechanism
    return mechanism.parameters if isinstance(mechanism, EditChannel) else None


def _keeps_enough(release: LocalSpec) -> bool:
    own = _parameters(release)
    return own is not None and own.deletion < 1 and EditNoise.of(own, len(release.alphabet)).usable
