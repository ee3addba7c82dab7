"""Statistics of the true sequences, from a private file and its manifest: nobody pays for them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow.compute as pc

from symveil.engines.batch import encode_lists
from symveil.errors import FileError, InputError, ParameterError, SymveilError
from symveil.estimation.batches import Batch
from symveil.estimation.estimate import Estimate
from symveil.estimation.groups import group_count, random_groups
from symveil.estimation.lengths import LengthTable
from symveil.estimation.presence import Presence, useful_length
from symveil.estimation.statistics import Statistic, read_statistic
from symveil.estimation.substitution_noise import SMALLEST, SubstitutionNoise
from symveil.estimation.substitution_tables import SubstitutionTables, Target
from symveil.io.aside import digest_of
from symveil.io.folder_digest import digest_of_folder
from symveil.io.manifest import alphabet_digest, manifest_path, model_digest, read_manifest
from symveil.io.models.model_files import load_word_model
from symveil.io.sequences.records import SYMBOLS
from symveil.models.word import Codes, Lengths
from symveil.workflows.released_file import choice_of, model_beside, open_released
from symveil.workflows.released_noise import noise_of, noise_of_mechanism
from symveil.workflows.releasing.promise import Release

LEFT_OUT = 0.05
"""The largest share of sequences that may be left out because nothing can be said about their lengths."""
_LARGEST_EPSILON = 50
_LONGEST_POSITION_TABLE = 4_000_000
_COSTS_NOTHING = "it costs no privacy: only the private file and its manifest were read"
_NOT_OF_ONE = "it is about all released sequences together, and says nothing about a single one"


def estimate(
    path: str | Path,
    statistic: str,
    *,
    manifest: str | Path | None = None,
    model: str | Path | None = None,
    target: str = "file",
    cluster: str | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Statistics of the true sequences behind a private file, with intervals.

    Parameters
    ----------
    path
        The private file, or the folder that Spark wrote.
    statistic
        visits, first, last, positions, ngrams:K, transitions, od, lengths, presence, or directly-follows.
    manifest
        The manifest, if it does not lie beside the private file.
    model
        The model, if it does not lie beside the manifest.
    target
        "file": the true statistics of these sequences; "population": those of as many sequences like them.
    cluster
        A column of the private file that says which sequences belong together, such as those of one person. It must
        have been kept by the release (`keep`).
    confidence
        How often intervals are to cover.

    >>> import pathlib, tempfile
    >>> import symveil as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder, "visits.csv")
    ...     _ = source.write_text("id,pages\\n" + "".join(f"{i},a b a\\n" for i in range(500)))
    ...     release = sv.privatize_file(source, source.with_name("private.csv"), alphabet="abc", epsilon=3)
    ...     answer = sv.estimate(release.out, "ngrams:2")
    >>> answer.method, answer.row(0)["low_all"] < 500 < answer.row(0)["high_all"]
    ('exact-unbiased', True)
    """
    asked = read_statistic(statistic)
    if target not in get_args(Target):
        raise ParameterError("target", expected="file or population", found=target)
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ParameterError("confidence", expected="a number between 0 and 1 such as 0.95", found=confidence)
    released = ReleasedWords(Path(path), manifest=manifest, model=model, cluster=cluster)
    goal: Target = "population" if target == "population" else "file"
    with released.as_file_errors():
        if released.told.get("policy") is not None:
            raise _not_yet("a policy for opacity")
        if released.told["parameters"]["metric"] == "levenshtein":
            raise _not_yet(released.release.mechanism.name)
        if released.release.model is not None:
            raise _not_yet("a model")
        return _free(released, asked, goal, confidence)


def _not_yet(what: str) -> InputError:
    return InputError(f"estimate: expected a release over an alphabet (metric hamming), found one with {what}")


class ReleasedWords:
    """A private file with its manifest: the bytes are those that it tells, and words come as codes."""

    def __init__(
        self, place: Path, *, manifest: str | Path | None, model: str | Path | None, cluster: str | None
    ) -> None:
        self.place, self.cluster = place, cluster
        self.manifest_file = Path(manifest) if manifest is not None else manifest_path(place)
        if manifest is None and not self.manifest_file.exists():
            raise FileError(
                str(self.manifest_file), expected="the manifest beside the private file", found="none; name it with "
                "--manifest",
            )  # fmt: skip
        self.told: dict[str, Any] = read_manifest(self.manifest_file).document
        with self.as_file_errors():
            self._check_bytes()
            self.release = self._release(model)
            self.count = int(self.told["counts"]["released"])
            self._columns_checked = self.told["output"]["columns"]

    def as_file_errors(self) -> _AsFileErrors:
        """A block in which whatever a strange manifest leads to becomes one line."""
        return _AsFileErrors(self.manifest_file)

    def _check_bytes(self) -> None:
        found = digest_of_folder(self.place) if self.place.is_dir() else digest_of(self.place)
        if found is None:
            raise FileError(str(self.place), expected="a private file or folder", found="none")
        if found != self.told["digests"]["output"]:
            raise FileError(
                str(self.place), expected="the bytes that the manifest tells", found="others; is it another release's?"
            )

    def _release(self, model: str | Path | None) -> Release:
        loaded = None
        if self.told["model"] is not None:
            place = Path(model) if model is not None else model_beside(self.manifest_file, self.told["model"]["file"])
            if place is None:
                raise ParameterError("model", expected="the model file, which is not beside the manifest", found="none")
            loaded = load_word_model(place)
            if model_digest(loaded) != self.told["digests"]["model"]:
                raise FileError(str(place), expected="the model that the manifest tells", found="another one")
        release = Release.of(choice_of(self.told), alphabet=self.told["alphabet"], model=loaded)
        if alphabet_digest(release.alphabet) != self.told["digests"]["alphabet"]:
            raise FileError(f"{self.manifest_file}: $.alphabet", expected="that of its digest", found="another one")
        return release

    @property
    def seed(self) -> int:
        """A public number that is this file's own: the same file is always split in the same way."""
        return int(str(self.told["digests"]["output"])[-15:], 16)

    def units(self) -> int:
        """How many sequences, or clusters of them, can be put into groups."""
        return self.count if self.cluster is None else len(self._clusters)

    @property
    def what_units_are(self) -> str:
        """What is put into groups."""
        return "sequences" if self.cluster is None else "clusters"

    @property
    def _clusters(self) -> dict[str, int]:
        """The clusters in the order in which they come."""
        if "_found_clusters" not in self.__dict__:
            found: dict[str, int] = {}
            for file in open_released(self.place, self.told, person=self.cluster):
                for batch in file.records():
                    for name in pc.unique(file.persons(batch)).to_pylist():
                        found.setdefault(name, len(found))
            self.__dict__["_found_clusters"] = found
        clusters: dict[str, int] = self.__dict__["_found_clusters"]
        return clusters

    def batches(self, groups: int) -> Iterator[Batch]:
        """The words, each in one of so many random groups."""
        owner = random_groups(self.units(), groups, self.seed) if groups else np.zeros(self.units(), dtype=np.int64)
        seen = 0
        for file in open_released(self.place, self.told, person=self.cluster):
            for batch in file.records():
                codes, lengths = encode_lists(batch.column(SYMBOLS), self.release.alphabet)
                if len(codes) and codes.min() < 0:
                    raise FileError(str(self.place), expected="symbols of the alphabet only", found="others")
                if seen + len(lengths) > self.count:
                    break
                if self.cluster is None:
                    own = owner[seen : seen + len(lengths)]
                else:
                    names = file.persons(batch).dictionary_encode()
                    numbers = np.array([self._clusters[name] for name in names.dictionary.to_pylist()], dtype=np.int64)
                    own = owner[numbers[names.indices.to_numpy(zero_copy_only=False)]]
                seen += len(lengths)
                yield Batch(codes, lengths, own)
        if seen != self.count:
            raise FileError(
                f"{self.manifest_file}: $.counts.released", expected="the number of sequences in the file",
                found="another one",
            )  # fmt: skip

    def words(self) -> Iterator[tuple[Codes, Lengths]]:
        """The words without groups."""
        for batch in self.batches(0):
            yield batch.codes, batch.lengths

    def assumptions(self) -> list[str]:
        """What is always said."""
        counts = self.told["counts"]
        said = [_COSTS_NOTHING, _NOT_OF_ONE]
        dropped = counts["dropped_unknown"] + counts["dropped_over_budget"]
        if dropped:
            said.append(f"{dropped} sequences were dropped before the release and are not in it")
        return said


class _AsFileErrors:
    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, SymveilError):
            return
        if isinstance(error, LookupError | TypeError | AttributeError | ValueError | ArithmeticError):
            raise FileError(str(self._file), expected="a manifest as symveil writes it", found="another document")


# --- words over an alphabet ---------------------------------------------------------------------


def _free(released: ReleasedWords, asked: Statistic, target: Target, confidence: float) -> Estimate:
    noise = noise_of(released.release, released.told, where=str(released.manifest_file))
    said = released.assumptions()
    if not released.count:
        raise InputError("estimate: expected at least one sequence in the private file, found none")
    if asked.kind == "lengths":
        said.append("lengths are public in this release, and exact")
        lengths = LengthTable(target=target, groups=group_count(released.units(), 2000))
        for batch in released.batches(lengths.groups):
            lengths.add(batch)
        table = lengths.finish()
    elif asked.kind == "presence":
        table, notes = _presence(released, noise, target, confidence)
        said += notes
    else:
        table, notes = _counted(released, asked, noise, target)
        said += notes
    if target == "population":
        said.append(f"{released.what_units_are} are a random sample of the population, independent of each other")
    return Estimate.of(
        asked,
        table,
        symbols=released.release.alphabet.symbols,
        method="exact-unbiased",
        target=target,
        confidence=confidence,
        assumptions=said,
    )


def _counted(
    released: ReleasedWords, asked: Statistic, noise: SubstitutionNoise, target: Target
) -> tuple[Any, list[str]]:
    longest = 0
    if asked.kind == "positions":
        longest = max((row["lengths"][1] or 0 for row in released.told["classes"]), default=0)
        cells = longest * noise.symbols
    else:
        cells = int(noise.symbols) ** asked.order
    if cells > _LONGEST_POSITION_TABLE:
        raise ParameterError(
            "statistic", expected=f"a table of at most {_LONGEST_POSITION_TABLE:,} cells", found=f"{cells:,} cells"
        )
    numbers = SubstitutionTables.numbers_per_group(asked, noise, longest=longest)
    groups = group_count(released.units(), numbers)
    tables = SubstitutionTables(asked, noise, target=target, groups=groups, longest=longest)
    lengths: Counter[int] = Counter()
    unusable: set[int] = set()
    for batch in released.batches(groups):
        wanted = np.ones(len(batch.lengths), dtype=np.bool_)
        different, counts = np.unique(batch.lengths, return_counts=True)
        for length, count in zip(different.tolist(), counts.tolist(), strict=True):
            lengths[length] += count
            if not noise.usable(asked.order, length, sequences=released.count):
                unusable.add(length)
                wanted &= batch.lengths != length
        tables.add(batch.only(wanted))
    left_out = sum(lengths[length] for length in unusable)
    if left_out > LEFT_OUT * released.count:
        raise _unusable(released, asked, lengths, unusable, noise)
    notes = []
    if unusable:
        named = ", ".join(map(str, sorted(unusable)[:10])) + (" …" if len(unusable) > 10 else "")
        notes.append(f"{left_out} sequences are left out, whose noise cannot be undone: those of length {named}")
    return tables.finish(), notes


def _unusable(
    released: ReleasedWords, asked: Statistic, lengths: Counter[int], unusable: set[int], noise: SubstitutionNoise
) -> InputError:
    """The refusal where an eigenvalue is too close to 0, with the epsilon that would have been enough."""

    def enough(other: SubstitutionNoise) -> bool:
        spare = LEFT_OUT * released.count
        for length, count in lengths.most_common():
            if spare < 0:
                return False
            if not other.usable(asked.order, length, sequences=released.count):
                spare -= count
        return spare >= 0

    smallest = min(
        abs(noise.eigenvalue(order, length)) for length in unusable for order in range(1, min(asked.order, length) + 1)
    )
    return InputError(
        f"estimate: expected noise that leaves at least {SMALLEST} of a table of order {asked.order}, found "
        f"{smallest:.2g}: nothing can be said about {asked.name} from this release; {_enough_epsilon(released, enough)}"
    )


def _enough_epsilon(released: ReleasedWords, enough: Any) -> str:
    """Which epsilon, on a grid of halves, would have been enough with everything else as it is."""
    release, own = released.release, released.release.choice.epsilon
    for step in range(1, 2 * _LARGEST_EPSILON + 1):
        epsilon = Fraction(step, 2)
        if epsilon <= own:
            continue
        other = Release.of(replace(release.choice, epsilon=epsilon), alphabet=release.alphabet, model=None)
        if enough(noise_of_mechanism(other.mechanism)):
            return f"epsilon {float(epsilon):g} would have been enough"
    return f"no epsilon up to {_LARGEST_EPSILON} would have been enough; use mechanism exponential"


def _presence(
    released: ReleasedWords, noise: SubstitutionNoise, target: Target, confidence: float
) -> tuple[Any, list[str]]:
    lengths = _length_counts(released)
    mixed = [length for length in lengths if length and not noise.is_product(length)]
    if mixed:
        raise InputError(
            "estimate: expected a release that draws symbols independently of each other for presence (mechanism "
            f"exponential, utility distance), found {released.told['mechanism']}"
        )

    def useful(other: SubstitutionNoise) -> list[int]:
        return [
            length for length, count in lengths.items() if length and useful_length(other, length, count, confidence)
        ]

    known = useful(noise)
    if not known:
        raise InputError(
            "estimate: expected sequences short enough for presence at this epsilon, found none whose interval would "
            f"be of use; {_enough_epsilon(released, lambda other: bool(useful(other)))}"
        )
    longest = max(known)
    groups = group_count(released.units(), (longest + 1) * noise.symbols)
    table = Presence(noise, target=target, groups=groups, longest=longest)
    for batch in released.batches(groups):
        table.add(batch)
    told = sum(lengths[length] for length in known)
    rest = sum(count for length, count in lengths.items() if length) - told
    notes = []
    if rest:
        notes.append(f"{rest} sequences are left out: for their lengths intervals would be of no use")
    return table.finish(confidence), notes


def _length_counts(released: ReleasedWords) -> Counter[int]:
    found: Counter[int] = Counter()
    for _, lengths in released.words():
        different, counts = np.unique(lengths, return_counts=True)
        found.update(dict(zip(different.tolist(), counts.tolist(), strict=True)))
    return found
