"""What an outsider sees of an output besides the released words must not depend on the true ones.

The words that are released are forced to be the same, whatever the true ones are: each record's word is drawn from its
own bits alone. Then everything else must be the same too: every byte of the output, the sizes in which it grew, its
name, the manifest, what is printed, and the exit status.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.cli.main import main
from symveil.formats.limits import LIMITS
from symveil.formats.sequences import layout
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.records import SYMBOLS
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.mechanisms.mechanism import Mechanism
from symveil.storage.files import TemporaryOutput

from .secrets_and_files import COUNT, KINDS, Kind, any_lengths, same_lengths

PACKED = ("CSV of text", "JSON Lines of lists", "Parquet of lists", "Parquet of events", "XES")
TRULY = (
    "CSV of text",
    "JSON Lines of numbers",
    "Parquet of text",
    "Parquet of dictionaries",
    "Parquet of events",
    "XES",
)
CASES = [
    *(pytest.param(kind, False, id=kind.name) for kind in KINDS),
    *(pytest.param(kind, True, id=f"{kind.name}, gzipped") for kind in KINDS if kind.name in PACKED),
]


@pytest.fixture
def forced_words(monkeypatch):
    """Released words that depend on the record's bits, and where lengths are public on its length."""

    def forced(mechanism, codes, lengths, *, bits, checked):
        sizes = lengths
        if mechanism.metric == "levenshtein":
            sizes = (bits.word_rows(len(lengths), 1)[:, 0] % np.uint64(9)).astype(np.int64)
        return (bits.ragged_words(sizes) % np.uint64(len(mechanism.alphabet))).astype(np.int32), sizes

    monkeypatch.setattr(Mechanism, "release_flat", forced)


@pytest.fixture
def seen(monkeypatch, capsys, tmp_path):
    """Everything that is seen of a command that is run on some words."""
    sizes: list[int] = []
    write = TemporaryOutput.write

    def noted(file, data):
        sizes.append(len(data))
        return write(file, data)

    monkeypatch.setattr(TemporaryOutput, "write", noted)

    def run(kind: Kind, words, *arguments: str, packed: bool = False) -> dict[str, object]:
        folder = tmp_path / f"run {len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        end = kind.suffix + (".gz" if packed else "")
        kind.write(folder / f"in{end}", words)
        (folder / "in.alphabet").write_text("\n".join(kind.alphabet))
        sizes.clear()
        with pytest.raises(SystemExit) as left:
            main(["privatize", f"in{end}", "--out", f"out{end}", "--alphabet", "@in.alphabet", "--epsilon", "0.001",
                  "--release-id", "r", *kind.arguments(), *arguments])  # fmt: skip
        out, err = capsys.readouterr()
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith("in.")}
        return {"status": left.value.code or 0, "out": out, "err": err, "sizes": list(sizes), "files": files}

    return run


@pytest.mark.parametrize(("kind", "packed"), CASES)
def test_secret_symbols(kind, packed, seen, small_pieces, forced_words):
    """Hamming: the lengths are public, the symbols are not."""
    secrets = same_lengths(kind.alphabet, empty=not kind.long)
    first, *others = (seen(kind, words, packed=packed) for words in secrets.values())
    assert first["status"] == 0, first["err"]
    assert len(first["sizes"]) > 2
    assert set(first["sizes"][:-1]) == {LIMITS.now.written_bytes}
    assert f"out{kind.suffix}{'.gz' if packed else ''}" in first["files"]
    for other in others:
        assert other == first


@pytest.mark.parametrize(("kind", "packed"), [case for case in CASES if not case.values[0].long])
def test_secret_lengths(kind, packed, seen, small_pieces, forced_words):
    """Levenshtein: nothing about a word is public."""
    secrets = any_lengths(kind.alphabet)
    first, *others = (seen(kind, words, "--metric", "levenshtein", packed=packed) for words in secrets.values())
    assert first["status"] == 0, first["err"]
    for other in others:
        assert other == first


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_secrets_are_read_in_different_batches(kind, small_pieces, tmp_path):
    """Or else the tests above would show nothing."""
    secrets = same_lengths(kind.alphabet, empty=not kind.long)
    if kind.name == "Parquet of numbers" or kind.suffix == ".xes":  # here batches depend on lengths only
        secrets = any_lengths(kind.alphabet)
    cut = set()
    for words in secrets.values():
        file = kind.write(tmp_path / f"in{kind.suffix}", words)
        cut.add(tuple(len(batch) for batch in open_sequences(file, options_of(kind)).records()))
    assert len(cut) > 1


def test_several_row_groups_with_their_pages(seen, small_pieces, forced_words, tmp_path):
    """What is compared above has several of everything."""
    kind = next(kind for kind in KINDS if kind.name == "Parquet of lists")
    seen(kind, same_lengths(kind.alphabet)["mixed symbols"])
    groups = row_groups(tmp_path / "run 0" / "out.parquet")
    assert len(groups) > 2
    assert max(groups) <= LIMITS.now.block_rows


def options_of(kind: Kind) -> ColumnOptions:
    return ColumnOptions(**{{"id": "identifier"}.get(name, name): value for name, value in kind.options.items()})


def row_groups(file) -> list[int]:
    told = pq.ParquetFile(file).metadata
    return [told.row_group(number).num_rows for number in range(told.num_row_groups)]


def by_name(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


def test_written_as_it_comes_it_would_show(seen, small_pieces, forced_words, monkeypatch):
    """These tests can fail: without the layout the row groups follow the secrets."""
    monkeypatch.setattr(layout.RowBlocks, "write", lambda blocks, batch: blocks._writer.write(batch))
    kind = by_name("Parquet of lists")
    outputs = {seen(kind, words)["files"]["out.parquet"] for words in same_lengths(kind.alphabet).values()}
    assert len(outputs) > 1


@pytest.mark.parametrize("name", ["CSV of text", "CSV of events", "JSON Lines of lists", "Parquet of lists", "XES"])
def test_sequences_that_are_left_out(name, seen, small_pieces, forced_words):
    """Which ones is public; what else is in the file is not."""
    kind = by_name(name)
    told = []
    for words in same_lengths(kind.alphabet, empty=not kind.long).values():
        changed = list(words)
        for number in range(1, COUNT, 9):
            changed[number] = ["unknown"] * len(words[number])
        told.append(seen(kind, changed, "--on-unknown", "drop-sequence"))
    assert told[0]["status"] == 0
    assert json.loads(told[0]["files"][f"out{kind.suffix}.manifest.json"])["counts"]["dropped_unknown"] > 5
    assert all(other == told[0] for other in told)


# --- the sizes that files really have -----------------------------------------------------------


@pytest.fixture
def groups_of(tmp_path):
    def run(words, **options) -> tuple[list[int], int, dict]:
        pq.write_table(pa.table({"id": range(len(words)), "s": words}), tmp_path / "in.parquet")
        out = tmp_path / "out.parquet"
        done = sv.privatize_file(
            tmp_path / "in.parquet", out, epsilon="0.001", sequence="s", identifier="id", **options
        )  # fmt: skip
        return row_groups(out), out.stat().st_size, done.manifest

    return run


def test_one_longer_symbol_in_seven_thousand_rows(groups_of):
    long = "a name of twenty-eight bytes"
    words = [["a"] * 100 for _ in range(7000)]
    before, _, _ = groups_of(words, alphabet=["a", long])
    words[3000][50] = long
    after, _, _ = groups_of(words, alphabet=["a", long])
    assert before == after == [7000]  # [7000] and [5991, 1009] it was


def test_one_inserted_symbol_where_everything_is_deleted(groups_of):
    words = [["a"] * (101 if number < 52 else 100) for number in range(22_000)]
    before = groups_of(words, alphabet="ab", metric="levenshtein")
    words[7].append("b")
    after = groups_of(words, alphabet="ab", metric="levenshtein")
    assert before[2]["guarantee"]["epsilon"] == 0
    assert before[0] == after[0] == [22_000]  # [20971, 1029] and [20970, 1030] it was
    assert before[1] == after[1]
    assert before[2]["digests"] == after[2]["digests"]


def test_row_groups_are_of_a_size_for_analysts(tmp_path):
    pq.write_table(pa.table({"s": [["a", "b"]] * 300_000}), tmp_path / "in.parquet", row_group_size=1000)
    sv.privatize_file(tmp_path / "in.parquet", tmp_path / "out.parquet", alphabet="ab", epsilon=1)
    assert row_groups(tmp_path / "out.parquet") == [131_072, 131_072, 300_000 - 2 * 131_072]


# --- with the mechanisms themselves -------------------------------------------------------------


def released(kind: Kind, file) -> list[list[str]]:
    opened = open_sequences(file, options_of(kind))
    return [
        [str(symbol) for symbol in word] for batch in opened.records() for word in batch.column(SYMBOLS).to_pylist()
    ]


def privatized(kind: Kind, folder, words, **options) -> bytes:
    folder.mkdir(exist_ok=True)
    names = {{"id": "identifier"}.get(name, name): value for name, value in kind.options.items()}
    sv.privatize_file(
        kind.write(folder / f"in{kind.suffix}", words), folder / f"out{kind.suffix}", alphabet=kind.alphabet,
        release_id="r", keep=kind.keep, **{**names, **options},
    )  # fmt: skip
    return (folder / f"out{kind.suffix}").read_bytes()


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        pytest.param(kind, metric, id=f"{kind.name}, {metric}")
        for kind in KINDS
        for metric in ("hamming", "levenshtein")
        if kind.name in TRULY and not (kind.long and metric == "levenshtein")  # refused: an empty case would be missing
    ],
)
def test_other_true_words_with_the_same_released_words_make_the_same_bytes(kind, metric, tmp_path, small_pieces):
    """What was released, released again at an epsilon that changes nothing: true words and their batches are others."""
    words = same_lengths(kind.alphabet, empty=not kind.long)["mixed symbols"]
    first = privatized(kind, tmp_path / "first", words, epsilon=2, metric=metric)
    again = released(kind, tmp_path / "first" / f"out{kind.suffix}")
    assert again != words
    assert privatized(kind, tmp_path / "second", again, epsilon=1000, metric=metric) == first


@pytest.mark.parametrize("metric", ["hamming", "levenshtein"])
@pytest.mark.parametrize(
    "name", ["CSV of text without ids", "JSON Lines of lists", "Parquet of lists without ids", "XES"]
)
def test_with_one_key_a_changed_word_changes_its_own_record_only(name, metric, tmp_path, small_pieces):
    kind = by_name(name)
    words = same_lengths(kind.alphabet)["mixed symbols"]
    privatized(kind, tmp_path / "before", words, epsilon=3, metric=metric)
    words[11] = [kind.alphabet[2]] * (len(words[11]) if metric == "hamming" else 50)
    privatized(kind, tmp_path / "after", words, epsilon=3, metric=metric)
    before, after = (released(kind, tmp_path / run / f"out{kind.suffix}") for run in ("before", "after"))
    assert before[11] != after[11]
    assert before[:11] == after[:11]
    assert before[12:] == after[12:]


def test_a_line_break_in_a_symbol_moves_lines_and_no_bits(tmp_path, small_pieces):
    """Without ids records are known by their number. By their line, a line break in a sequence that is left out would
    change the words of all records after it.
    """
    texts = []
    for symbol in ("unknown", "un\nknown"):
        (tmp_path / "in.csv").write_text(f'n,s\n0,"{symbol}"\n' + "".join(f"{n},b|b|b|b|b|b\n" for n in range(1, 40)))
        sv.privatize_file(
            tmp_path / "in.csv", tmp_path / "out.csv", alphabet="ab", epsilon=1, release_id="r",
            sequence="s", separator="|", keep=["n"], on_unknown="drop-sequence",
        )  # fmt: skip
        texts.append((tmp_path / "out.csv").read_text())
    assert texts[0] == texts[1]


# --- what a format without types says about symbols ---------------------------------------------


def test_whether_json_symbols_are_numbers_is_not_told_by_a_secret_length(tmp_path, small_pieces, forced_words):
    """A file in which nothing is a symbol has no symbol that says so; the alphabet says it."""
    outputs = set()
    for lines in (["[]", "[]"], ["[]", "[7]"], ["[8, 7]", "[]"], ['["7"]', "[]"]):
        text = "".join(f'{{"id": {number}, "t": {word}}}\n' for number, word in enumerate(lines))
        (tmp_path / "in.jsonl").write_text(text)
        sv.privatize_file(
            tmp_path / "in.jsonl", tmp_path / "out.jsonl", alphabet=[7, 8], epsilon=1, metric="levenshtein",
            release_id="r",
        )  # fmt: skip
        outputs.add((tmp_path / "out.jsonl").read_text())
    assert len(outputs) == 1
    assert any(isinstance(symbol, int) for line in outputs.pop().splitlines() for symbol in json.loads(line)["t"])


def test_json_symbols_keep_their_type_where_lengths_are_public(tmp_path, small_pieces):
    """Also after so many empty sequences that the first batch has no symbol."""
    for symbols in ([7, 8], ["7", "8"]):
        rows = [{"id": number, "t": [] if number < 60 else symbols} for number in range(80)]
        (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sv.privatize_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl", alphabet=["7", "8"], epsilon=1000)
        assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == rows


@pytest.mark.parametrize("declared", [None, "int", "string"])
def test_what_xes_symbols_are_is_declared_or_text(declared, tmp_path, forced_words, small_pieces):
    """It was told by the first event of all, and so by its symbol where numbers and text are symbols of one log."""
    head = f'<global scope="event"><{declared} key="code" value="0"/></global>' if declared else ""
    trace = "<trace><string key='concept:name' value='{}'/>{}</trace>"
    text, number = "<event><string key='code' value='x'/></event>", "<event><int key='code' value='7'/></event>"
    outputs = set()
    for first, second in ((text, number), (number, text), (number, number)):
        body = trace.format(1, first) + trace.format(2, second)
        (tmp_path / "in.xes").write_text(f"<log>{head}{body}</log>")
        sv.privatize_file(
            tmp_path / "in.xes", tmp_path / "out.xes", alphabet=["x", "7"], epsilon=1, symbol="code", release_id="r"
        )
        outputs.add((tmp_path / "out.xes").read_text())
    assert len(outputs) == 1
    assert f'<{declared or "string"} key="code"' in outputs.pop()


def test_lists_of_a_fixed_size_have_room_for_other_lengths(tmp_path, small_pieces):
    """Whether the released lengths fit must not decide whether there is a release."""
    table = pa.table({"id": [1, 2], "s": pa.array([["a", "b"], ["b", "b"]], type=pa.list_(pa.string(), 2))})
    pq.write_table(table, tmp_path / "in.parquet")
    done = sv.privatize_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", alphabet="ab", epsilon="0.01", metric="levenshtein"
    )
    assert done.manifest["counts"]["released"] == 2
    assert pq.read_table(tmp_path / "out.parquet")["s"].to_pylist() == [[], []]
    sv.privatize_file(tmp_path / "in.parquet", tmp_path / "same.parquet", alphabet="ab", epsilon=1000)
    assert pq.read_table(tmp_path / "same.parquet").equals(table)


def test_progress_goes_by_public_steps(tmp_path, small_pieces, set_limits):
    set_limits(LIMITS, progress_records=40)
    kind, told = by_name("CSV of text"), []
    for number, words in enumerate(same_lengths(kind.alphabet).values()):
        steps: dict[int, str] = {}

        def tell(_done, _total, *, what, records, steps=steps):
            steps[records] = what

        privatized(kind, tmp_path / str(number), words, epsilon=1, progress=tell)
        told.append(list(steps))
    assert told[0] == [0, 40, 80, 120, COUNT]
    assert all(steps == told[0] for steps in told)
