"""Model files: the door through which every format of models comes in, and JSON goes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.models.dot_files import DOT_SUFFIXES, read_dot_file
from symveil.formats.models.drn_files import DRN_SUFFIX, read_drn
from symveil.formats.models.gen_files import GEN_SUFFIX, read_gen
from symveil.formats.models.model_json import model_text, parse_model
from symveil.formats.models.networkx_graphs import read_graph_file
from symveil.formats.models.prism_explicit import LABEL_SUFFIX, read_prism
from symveil.formats.models.prism_explicit import SUFFIX as PRISM_SUFFIX
from symveil.formats.models.state_blocks import read_fsm, read_pfa, read_stoc
from symveil.formats.models.transition_tables import TABLE_SUFFIXES, read_transition_table
from symveil.formats.models.wmod_files import WMOD_SUFFIX, read_wmod
from symveil.formats.reading import beside, read_text, stem, suffix, without_extra, wrong_suffix
from symveil.languages.graph import AnyModel, Model, require_words
from symveil.models.labelled_chain import LabelledChain
from symveil.storage.files import write_text

GRAPHML_SUFFIX, UMB_SUFFIX = ".graphml", ".umb"

_SYSTEM_READERS = {
    ".fsm": read_fsm,
    ".stoc": read_stoc,
    ".pfa": read_pfa,
    GEN_SUFFIX: read_gen,
    WMOD_SUFFIX: read_wmod,
}

MODEL_SUFFIXES = (
    ".json",
    *TABLE_SUFFIXES,
    *DOT_SUFFIXES,
    GRAPHML_SUFFIX,
    *_SYSTEM_READERS,
    PRISM_SUFFIX,
    LABEL_SUFFIX,
    DRN_SUFFIX,
    UMB_SUFFIX,
)
"""The endings of the files that are read; JSON also under other endings, if it is JSON."""


def load_model(
    path: str | Path,
    *,
    labels: str | Path | None = None,
    label_states: Mapping[str, Sequence[int | str]] | None = None,
    notes: list[str] | None = None,
) -> AnyModel:
    """The model in a file.

    Parameters
    ----------
    path
        The file, whose name says the format: GraphML (`.graphml`) through networkx, DOT (`.dot`, `.gv`), transition
        tables (`.csv`, `.tsv`, `.parquet`), partially observed systems of UMDES, DESUMA and VEiP (`.fsm`, `.stoc`,
        `.pfa`), of libFAUDES (`.gen`) and Supremica (`.wmod`), explicit chains of PRISM and Storm (`.tra`, with the
        labels in a `.lab` file beside it and, if there is one, the variables in a `.sta` file; `.drn`; `.umb` through
        umbi), and symveil's own JSON; each also gzipped or packed by xz.
    labels
        A label file (`.lab`) that has another name than its `.tra` file, or a file of rewards (`.srew`).
    label_states
        Labels that a `.tra`, `.drn` or `.umb` file lacks, with the numbers of their states: `{"done": [4, 5]}`.
    notes
        Gets a sentence for everything that was assumed or rounded.

    >>> import tempfile
    >>> from symveil.models.automaton import TransitionSystem
    >>> robot = TransitionSystem.from_transitions([("s0", "go", "s1"), ("s1", "back", "s0")], initial="s0")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(robot, f"{folder}/robot.json")
    ...     load_model(f"{folder}/robot.json") == robot
    True
    """
    file = Path(path)
    kind = suffix(Path(file.name.lower().removesuffix(".xz")))
    sentences: list[str] = []
    model: AnyModel
    if labels is not None and kind != PRISM_SUFFIX:
        actual = f"labels with a {kind} file" if kind else "labels with another file"
        raise FileError(str(file), expected="a PRISM .tra file, which label files belong to", found=actual)
    if label_states and kind not in (PRISM_SUFFIX, LABEL_SUFFIX, DRN_SUFFIX, UMB_SUFFIX):
        expected = "a .tra, .drn or .umb file with `label_states`, whose states have numbers"
        raise FileError(str(file), expected=expected, found=f"a {kind} file" if kind else "another file")
    if kind in TABLE_SUFFIXES:
        model = read_transition_table(file, notes=sentences)
    elif kind in DOT_SUFFIXES:
        model = read_dot_file(file, notes=sentences)
    elif kind == GRAPHML_SUFFIX:
        model = read_graph_file(file, notes=sentences)
    elif kind in _SYSTEM_READERS:
        model = _SYSTEM_READERS[kind](file, notes=sentences)
    elif kind in (PRISM_SUFFIX, LABEL_SUFFIX):
        beside = None if labels is None else Path(labels)
        model = read_prism(_transitions_of(file, kind), labels=beside, label_states=label_states, notes=sentences)
    elif kind == DRN_SUFFIX:
        model = read_drn(file, label_states=label_states, notes=sentences)
    elif kind == UMB_SUFFIX:
        model = _read_umb(file, label_states, sentences)
    else:
        text = read_text(file, what="model file", at_most=LIMITS.now.model_bytes)
        if kind not in ("", ".json") and not text.lstrip().startswith("{"):
            raise wrong_suffix(file, MODEL_SUFFIXES)
        model = parse_model(text, name=str(file), notes=sentences)
    if notes is not None:
        notes.extend(f"{file}: {note}" for note in sentences)
    return model


def _read_umb(file: Path, label_states: Mapping[str, Sequence[int | str]] | None, notes: list[str]) -> AnyModel:
    try:
        from symveil.formats.models.umb_files import read_umb  # noqa: PLC0415 - umbi is optional
    except ModuleNotFoundError as error:
        raise without_extra(file, error, "umb") from None
    return read_umb(file, label_states=label_states, notes=notes)


def load_word_model(path: str | Path, *, notes: list[str] | None = None) -> Model:
    """The model in a file, if it is one that has words."""
    model = load_model(path, notes=notes)
    if isinstance(model, LabelledChain):
        raise FileError(
            str(path),
            expected="a markov-chain, transition-system or automaton, which has words",
            found=f"a {model.kind}, which symveil verify takes",
        )
    return require_words(model)


def load_labelled_chain(
    path: str | Path,
    *,
    labels: str | Path | None = None,
    label_states: Mapping[str, Sequence[int | str]] | None = None,
    notes: list[str] | None = None,
) -> LabelledChain:
    """The labelled chain in a file; `labels` is a PRISM label file that has another name than its `.tra` file."""
    model = load_model(path, labels=labels, label_states=label_states, notes=notes)
    if not isinstance(model, LabelledChain):
        raise FileError(str(path), expected="a labelled-chain", found=f"a {model.kind}")
    return model


def _transitions_of(file: Path, kind: str) -> Path:
    """A `.lab` file stands for the `.tra` file beside it."""
    if kind == PRISM_SUFFIX:
        return file
    return beside(file, PRISM_SUFFIX) or file.with_name(stem(file) + PRISM_SUFFIX)


def save_model(model: AnyModel, path: str | Path) -> None:
    """Write a model as JSON, in one step: whole or not at all. Probabilities stay exact.

    Parameters
    ----------
    model
        Any model.
    path
        The file; one of that name is replaced.

    >>> import symveil as sv
    >>> import tempfile
    >>> thirds = sv.MarkovChain.from_transitions([("a", "a", "1/3"), ("a", "b", "2/3"), ("b", "a", 1)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(thirds, f"{folder}/thirds.json")
    ...     "2/3" in Path(f"{folder}/thirds.json").read_text()
    True
    """
    write_text(Path(path), model_text(model))
