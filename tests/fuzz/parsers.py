"""Every parser of symveil, with examples of what it reads: adding one is adding a line to TARGETS.

What was read is also used: a model is written and read back as the same, sequences are written in their own form
and read back as the same, a ledger's books are looked through. A parser that lets something through which falls
over later is caught as well.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random

import matplotlib.pyplot  # noqa: F401 - pandas' and its own first import warn about other libraries, not about inputs
import networkx  # noqa: F401 - as above
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz import examples, kept_calibrations
from fuzz.ledgers import made_ledger, prepare_ledger, read_ledger
from fuzz.mutations import HOSTILE, VALUES
from fuzz.runner import Target
from fuzz.special import MARK, SPECIAL, put, remove
from symveil.cli.main import main as command_line
from symveil.enforcement.enforce import Enforcement, enforce_opacity
from symveil.errors import SymveilError
from symveil.formats.cost_files import read_costs, read_places
from symveil.formats.models.model_files import load_labelled_chain, load_model
from symveil.formats.models.model_json import model_text, parse_model
from symveil.formats.models.transition_tables import is_channel_table, read_channel
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.sequence_files import open_sequences, read_sequences
from symveil.formats.symbols import read_alphabet
from symveil.languages.cost_table import CostTable
from symveil.languages.runs import runs
from symveil.laws.parameters import read_adjacency, read_epsilon, read_offset
from symveil.models.alphabet import check_separable, encode, join_word, split_word
from symveil.models.markov_chain import MarkovChain
from symveil.numbers.progress import collected_notes
from symveil.numbers.rationals import exact, spelled
from symveil.tasks.check import check_manifest
from symveil.tasks.compare import compare
from symveil.tasks.compare_report import comparison_page
from symveil.tasks.enforce_options import enforced_log, release_log
from symveil.tasks.parameters import RunOptions
from symveil.tasks.privatize_file import privatize_file

# --- models ----------------------------------------------------------------------------------------


def _model(name: str):
    """A model file of this name; `{…}` in an input separates it from a file beside it."""
    beside = {"m.stoc": "m.fsm", "m.tra": "m.lab"}.get(name)

    def parse(content: bytes, folder: Path) -> object:
        for old in folder.glob("m.*"):
            remove(old)
        own, both, other = content.partition(examples.BESIDE)
        put(folder / name, own)
        if both and beside is not None:
            put(folder / beside, other)
        notes: list[str] = []
        model = load_model(folder / name, notes=notes)
        assert all(len(note.splitlines()) == 1 for note in notes), notes
        again = parse_model(model_text(model))
        assert again == model, "written and read again it is another model"
        if name == "m.tra":
            load_labelled_chain(folder / name)
        return model

    return parse


def _channel(content: bytes, folder: Path) -> object:
    put(folder / "channel.csv", content)
    is_channel_table(folder / "channel.csv")
    notes: list[str] = []
    channel = read_channel(folder / "channel.csv", notes=notes)
    assert all(len(note.splitlines()) == 1 for note in notes), notes
    return channel


def _related(content: bytes, folder: Path) -> object:
    (folder / "channel.csv").write_bytes(b"input,output,probability\na,x,1\nb,x,1\n")
    put(folder / "related.csv", content)
    return read_channel(folder / "channel.csv", related=folder / "related.csv")


def _made_model(random: Random) -> bytes:
    """A document of a random kind with a few states, right or nearly so."""
    states = random.sample(["a", "b", "c", "", "x y", "é", "0"], random.randrange(1, 6))
    kind = random.choice(["markov-chain", "transition-system", "automaton", "stochastic-system", "labelled-chain"])
    chances = ["1/2", 0.5, 1, "1/3", "2/3", 0.3333333333, "0", 2, "1e-9", "0.999999999999"]

    def state() -> object:
        return random.choice(states) if random.random() < 0.97 else random.choice(VALUES)

    def row() -> list[object]:
        if kind in ("markov-chain", "labelled-chain"):
            return [state(), state(), random.choice(chances)]
        event = random.choice(["e", "f", None]) if kind == "automaton" else random.choice("ef")
        chance = [random.choice(chances)] if kind == "stochastic-system" and logical else []
        return [state(), event, state(), *chance]

    logical = random.random() < 0.5
    document: dict[str, object] = {"format": "symveil/1", "kind": kind}
    document["transitions"] = [row() for _ in range(random.randrange(6))]
    if random.random() < 0.8:
        document["initial"] = state() if random.random() < 0.8 else states[:2]
    extras: dict[str, object] = {
        "states": states,
        "accepting": states[:1],
        "observable": ["e"],
        "secret": states[-1:],
        "labels": {name: random.choice("xy") for name in states},
        "related": [[state(), state()]],
    }
    wanted = {
        "automaton": ["accepting"],
        "stochastic-system": ["observable", "secret"],
        "labelled-chain": ["labels", "related"],
    }.get(kind, [])
    document |= {key: extras[key] for key in wanted if random.random() < 0.95}
    document |= {key: extras[key] for key in extras if random.random() < 0.03}
    if random.random() < 0.3:
        document["states"] = states
    return json.dumps(document).encode()


# --- files of sequences ----------------------------------------------------------------------------

_WIDE = ColumnOptions(sequence="s", separator="|", keep=("k",))
_LONG = ColumnOptions(case="c", symbol="s", order="o", person="k")


def _sequences(name: str, *options: ColumnOptions):
    """A file of sequences of this name, read in several ways; each that works is written and read again."""

    def parse(content: bytes, folder: Path) -> object:
        file = folder / name
        put(file, content)
        refused: list[SymveilError] = []
        some = False
        for each in (ColumnOptions(), *options):
            try:
                opened = open_sequences(file, each)
                with collected_notes():
                    batches = list(opened.records())
                for batch in batches:
                    opened.persons(batch)
            except SymveilError as error:
                refused.append(error)
                continue
            some = True
            out = folder / f"out-{name}"
            with out.open("wb") as sink:
                writer = opened.writer(sink, packed=False)
                for batch in batches:
                    writer.write(batch)
                writer.close()
            names = {{"id": "identifier"}.get(key, key): value for key, value in opened.names().items()}
            again = open_sequences(out, ColumnOptions(**names))
            assert _symbols(again.records()) == _symbols(batches), "written and read again they are others"
        if not name.endswith(".xes"):
            try:
                list(read_sequences(file))
                some = True
            except SymveilError as error:
                refused.append(error)
        if not some:
            raise refused[0]
        return file

    return parse


def _symbols(batches: Iterator[pa.RecordBatch] | list[pa.RecordBatch]) -> list[object]:
    return [row for batch in batches for row in batch.column("symbols").to_pylist()]


_TYPES = [
    *(pa.string(), pa.large_string(), pa.int64(), pa.uint64(), pa.float64(), pa.bool_(), pa.binary(), pa.date32()),
    *(pa.timestamp("ns"), pa.timestamp("us", "Europe/Rome"), pa.decimal128(38, 3), pa.time64("ns"), pa.duration("s")),
    *(pa.list_(pa.string()), pa.list_(pa.int32()), pa.large_list(pa.string()), pa.list_(pa.list_(pa.string()))),
    *(pa.dictionary(pa.int8(), pa.string()), pa.struct([("a", pa.int8())]), pa.null(), pa.list_(pa.float64())),
    *(pa.list_(pa.dictionary(pa.int8(), pa.string())), pa.int8(), pa.float32(), pa.map_(pa.string(), pa.string())),
    *(pa.list_(pa.string(), 2), pa.binary(2), pa.date64(), pa.string_view(), pa.list_(pa.null()), pa.list_(pa.bool_())),
]
_CELLS: list[object] = [
    *("a", "b", "", "a|b", "a b", "1", "-1", 0, 1, 2**40, 0.5, float("nan"), True, None, b"ab", b"\xff\xff", [], ["a"]),
    *(["a", None], ["", "b"], [1, 2], [["a"]], [[]], {"a": 1}, float("inf"), [0.5, 1.0], "\x00", "é", [True], "a\nb"),
]


def _made_parquet(random: Random) -> bytes:
    """A table of random columns, as Parquet."""
    count = random.choice([0, 1, 2, 5])
    arrays, names = [], []
    for _ in range(random.randrange(5)):
        kind = random.choice(_TYPES)
        with suppress(pa.ArrowException, ValueError, TypeError, OverflowError):
            fitting = [cell for cell in _CELLS if _fits(cell, kind)] or [None]
            column = pa.array([random.choice(fitting) for _ in range(count)], type=kind)
            arrays.append(column)
            names.append(random.choice(["id", "trip_id", "s", "c", "o", "k", "links", "", "é", "from", "to"]))
    sink = io.BytesIO()
    with suppress(pa.ArrowException, ValueError):
        # no names: Arrow would refuse a table of no columns but some rows
        pq.write_table(pa.Table.from_arrays(arrays, names=names), sink, row_group_size=random.choice([1, 2, 100]))
    content = bytearray(sink.getvalue())
    if content and random.random() < 0.3:
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return bytes(content)


def _fits(cell: object, kind: pa.DataType) -> bool:
    try:
        pa.array([cell], type=kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError):
        return False
    return True


def _parquet(content: bytes, folder: Path) -> object:
    """The same bytes as sequences and as a transition table."""
    try:
        return _sequences("t.parquet", _WIDE, _LONG)(content, folder)
    except SymveilError:
        return _model("m.parquet")(content, folder)


# --- manifests, ledgers, logs ----------------------------------------------------------------------


def _prepare_manifests(folder: Path) -> tuple[bytes, ...]:
    (folder / "roads.json").write_bytes(examples.CHAIN)
    (folder / "trips.csv").write_bytes(b"trip_id,links\n1,a b a\n2,b\n")
    made = []
    for number, more in enumerate(
        [
            {"alphabet": "ab"},
            {"model": folder / "roads.json", "adjacency": 1},
            {"alphabet": "ab", "metric": "levenshtein", "max_length": 4},
            {"alphabet": "ab", "adjacency": "all", "mechanism": "staircase"},
        ]
    ):
        release = privatize_file(folder / "trips.csv", folder / f"private{number}.csv", epsilon="3/2", **more)
        made.append(release.manifest_file.read_bytes())
    (folder / "runs.csv").write_bytes(b"run_id,seen\n1,a b\n2,b\n")
    made.append(
        release_log(
            _enforcement(folder),
            folder / "runs.csv",
            folder / "shown.csv",
            columns=ColumnOptions(),
            run=RunOptions(),
            system_file=folder / "system.json",
        ).manifest_file.read_bytes()
    )
    for name, kind in (("pipe.csv", b"pipe"), ("zero.csv", b"endless device"), ("loop.csv", b"loop")):
        put(folder / name, MARK + kind)  # `VALUES` has these names
    return tuple(made)


def _manifest(content: bytes, folder: Path) -> object:
    put(folder / "x.manifest.json", content)
    return check_manifest(folder / "x.manifest.json").document()


def _enforcement(folder: Path) -> Enforcement:
    (folder / "system.json").write_bytes(examples.STOCHASTIC)
    return enforce_opacity(load_model(folder / "system.json"), 0, epsilon=2, length=3)


def _costs(read):
    """A file of costs: what is read is written, read back and used on a model that has all its symbols."""

    def parse(content: bytes, folder: Path) -> object:
        put(folder / "costs.csv", content)
        table = read(folder / "costs.csv")
        assert CostTable.from_document(json.loads(json.dumps(table.document()))) == table
        symbols = sorted({part for row in table.rows for part in row[: 2 if table.kind == "table" else 1]})
        if len(symbols) <= 12:
            ring = [(one, two, 1) for one, two in zip(symbols, symbols[1:] + symbols[:1], strict=True)]
            table.cost(runs(MarkovChain.from_transitions(ring), 2))
        return table

    return parse


def _log(content: bytes, folder: Path) -> object:
    if "enforcement" not in _cache:
        _cache["enforcement"] = _enforcement(folder)
    refused = []
    for name in ("log.csv", "log.jsonl"):
        put(folder / name, content)
        try:
            text = enforced_log(_cache["enforcement"], folder / name, folder / "log-out.jsonl").content
        except SymveilError as error:
            refused.append(error)
        else:
            assert all(isinstance(json.loads(line, parse_int=str), dict) for line in text.splitlines())
    if len(refused) > 1:
        raise refused[0]
    return None


_cache: dict[str, object] = {}


# --- maps ------------------------------------------------------------------------------------------


def _maps(content: bytes, folder: Path) -> object:
    """Places and zones of symbols, and the report that is made with them."""
    file = folder / "map.csv"
    put(file, content)
    refused: list[SymveilError] = []
    for given in ({"places": file}, {"zones": file}, {"places": file, "zones": "3x2"}):
        try:
            found = compare(["ab", "ba", "a"], ["ab", "bb"], **given)
        except SymveilError as error:
            refused.append(error)
        else:
            assert all(math.isfinite(value) for value in found.metrics.values())
            assert "nan" not in comparison_page(found)
    if len(refused) > 2:
        raise refused[0]
    return None


# --- what is typed ---------------------------------------------------------------------------------


def _typed(content: bytes, folder: Path) -> object:
    """Numbers, alphabets, separators and words, as they are typed."""
    pieces = (content.decode("utf-8", errors="surrogateescape").split("\n", 3) + [""] * 4)[:4]
    number, alphabet, separator, word = pieces
    refused: list[SymveilError] = []
    put(folder / "a.txt", content)
    for read in (
        lambda: exact(spelled(read_epsilon(number))),
        lambda: read_offset(number),
        lambda: read_adjacency(exact(number).numerator, length=3),
        lambda: read_alphabet(f"@{folder / 'a.txt'}"),
        lambda: _word(alphabet.lstrip("@"), separator or None, word),
    ):
        try:
            read()
        except SymveilError as error:
            refused.append(error)
    if len(refused) > 3:
        raise refused[-1]
    return None


def _word(alphabet: str, separator: str | None, word: str) -> None:
    symbols = read_alphabet(alphabet)
    check_separable(symbols, separator)
    split = split_word(word, separator)
    assert join_word(split, separator) == word
    encode(split, symbols)


def _made_command(random: Random) -> bytes:
    """Arguments of a command, one a line; sizes are small, so that only nonsense takes long."""

    def pick(*usual: str) -> str:
        if random.random() < 0.6:
            return random.choice(usual)
        return random.choice(HOSTILE).decode("utf-8", errors="surrogateescape").replace("\n", "").replace("\x00", "")

    command = random.choice(["release", "explain", "audit", "verify", "opacity", "enforce"])
    model = {"verify": "chain.json", "opacity": "system.json", "enforce": "system.json"}.get(command)
    arguments = [command]
    if model is not None:
        arguments.append(model)
        names = {
            "verify": {
                "--alpha": ("6/5", "1.1"),
                "--epsilon": ("1", "0.1"),
                "--delta": ("1/20", "0"),
                "--pair": ("a,b",),
            },
            "opacity": {
                "--k": ("0", "1", "infinite"),
                "--theta": ("1/2",),
                "--secret": ("0", "2"),
                "--notion": ("weak",),
            },
            "enforce": {"--k": ("0", "1"), "--epsilon": ("2",), "--length": ("2", "3"), "--omega": ("1", "2")},
        }[command]
    else:
        arguments += [pick("abc", "ab", "")] if command != "audit" else ["--length", pick("2", "3")]
        arguments += ["--alphabet", pick("abc", "ab", "a,b")]
        names = {
            "--epsilon": ("1", "6/5", "0.5"),
            "--adjacency": ("1", "2", "all"),
            "--mechanism": ("auto", "exponential", "permute-and-flip", "staircase", "online", "edit"),
            "--metric": ("hamming", "levenshtein"),
            "--offset": ("1", "1/2"),
            "--utility": ("distance", "inverse"),
            "--max-length": ("2", "3"),
            "--cutoff": ("1", "2"),
            "--separator": (",", "|"),
            "--count": ("1", "3"),
            "--prior": ("uniform", "chain", "degrees"),
        }
        if random.random() < 0.9:
            arguments += ["--epsilon", pick(*names.pop("--epsilon"))]
    for name, usual in names.items():
        if random.random() < 0.3:
            arguments += [name, pick(*usual)]
    if random.random() < 0.5:
        arguments.append("--json")
    random_place = random.randrange(1, len(arguments) + 1)
    if random.random() < 0.1:
        arguments.insert(random_place, pick("--", "-x", "--json"))
    return "\n".join(arguments).encode("utf-8", errors="surrogateescape")


def _prepare_commands(folder: Path) -> tuple[bytes, ...]:
    (folder / "chain.json").write_bytes(examples.LABELLED)
    (folder / "system.json").write_bytes(examples.STOCHASTIC)
    return ()


def _command(content: bytes, folder: Path) -> object:
    """The command line as a function: status 0, 1 or 2, and with 2 exactly one line."""
    arguments = (
        content.decode("utf-8", errors="surrogateescape").replace("\x00", "").split("\n")
    )  # a system has no such argument
    arguments = [str(folder / each) if each in ("chain.json", "system.json") else each for each in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            command_line(list(arguments))  # click empties a list that holds nothing but `--`
        except SystemExit as done:
            status = done.code
    for stream in (out, err):
        stream.seek(0)
    said, told = out.read(), err.read()
    assert status in (0, 1, 2), (arguments, status, told)
    if status == 2:
        assert said == "", said
        assert len(told.splitlines()) == 1, told
        assert told.startswith("symveil: error: "), told
        raise SymveilError(told.strip())
    if "--json" in arguments and "--help" not in arguments and status == 0:
        json.loads(said)
    return f"{arguments[0]} {status}"


def _of_other_tools(content: bytes, folder: Path) -> object:
    """One target for three formats, by how a file begins: each of them costs seconds."""
    name = "m.gen" if content.startswith(b"<G") else "m.wmod" if content.startswith(b"<") else "m.drn"
    return _model(name)(content, folder)


def _beside(example: bytes) -> tuple[bytes, ...]:
    """The same with something special in the place of the file beside it."""
    own, both, _ = example.partition(examples.BESIDE)
    return tuple(own + both + special for special in SPECIAL)


TARGETS = {
    "model-json": Target(_model("m.json"), examples.MODELS, is_json=True, make=_made_model),
    "fsm": Target(_model("m.fsm"), examples.FSM),
    "stoc": Target(_model("m.stoc"), examples.STOC, more=_beside(examples.STOC[1])),
    "pfa": Target(_model("m.pfa"), examples.PFA),
    "tra-lab": Target(_model("m.tra"), examples.PRISM, more=_beside(examples.PRISM[0])),
    "drn-gen-wmod": Target(_of_other_tools, (*examples.DRN, *examples.GEN, *examples.WMOD)),
    "graphml": Target(_model("m.graphml"), examples.GRAPHML),
    "dot": Target(_model("m.dot"), examples.DOT),
    "channel-csv": Target(_channel, examples.CHANNELS),
    "related-csv": Target(_related, examples.RELATED),
    "table-csv": Target(_model("m.csv"), examples.TABLES),
    "costs": Target(_costs(read_costs), examples.COSTS),
    "places": Target(_costs(lambda file: read_places(file, metres_per_unit=100)), examples.PLACES),
    "sequences-csv": Target(_sequences("t.csv", _WIDE, _LONG), examples.CSV),
    "json-lines": Target(_sequences("t.jsonl", _WIDE, _LONG), examples.JSON_LINES, is_json=True),
    "parquet": Target(_parquet, examples.parquet(), make=_made_parquet),
    "xes": Target(_sequences("t.xes", ColumnOptions(order="time:timestamp", keep=("cost",))), examples.XES),
    "kept-calibration": Target(kept_calibrations.parse, is_json=True, prepare=kept_calibrations.prepare),
    "manifest": Target(_manifest, is_json=True, prepare=_prepare_manifests),
    "ledger": Target(read_ledger, prepare=prepare_ledger, make=made_ledger),
    "observation-log": Target(_log, examples.LOGS, is_json=True),
    "maps": Target(_maps, examples.MAPS),
    "typed": Target(_typed, examples.TYPED),
    "command-line": Target(_command, prepare=_prepare_commands, make=_made_command),
}
