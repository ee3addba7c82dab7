"""How much readers take, and how large their pieces are: beyond it a file is refused, or gets to the disk first.

The defaults of `longest` and `gzip_ratio`, which a user sets, stand in `reading`.
"""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatLimits:
    """The most of each."""

    file_bytes: int = 64 << 20
    """A file that is read as a whole: manifests, alphabets, DOT, GraphML, .gen, .wmod and files of lines."""
    model_bytes: int = 256 << 20
    """The same of model files, of UMB files when they are unpacked, and of GeoJSON …"""
    json_bytes: int = 512 << 20
    """… of models that symveil wrote …"""
    program_bytes: int = 16 << 20
    """… and of PRISM programs beside a model."""
    line_characters: int = 64 << 20
    """A line, a cell with a sequence, and a trace of XES."""
    xz_memory: int = 128 << 20
    """What a file may ask for before its first byte is unpacked; xz -9 asks for 65 MiB."""
    suspicious_bytes: int = 64 << 20
    """A file that unpacks to less may repeat one line without end."""
    piece_bytes: int = 64 << 10
    """Packed bytes that are read at once."""

    nesting: int = 100
    """Levels of JSON and of XML."""
    token_bytes: int = 8 << 20
    """Markup of XML without an end."""
    states: int = 1_000_000
    """States that a model file announces, or writes as a range."""
    cost_rows: int = 2_000_000
    """Pairs of symbols with a cost."""
    zone_cells: int = 1_000_000
    """Cells of a grid over positions."""

    dot_nesting: int = 50
    """Levels of subgraphs."""
    grouped_edges: int = 1_000_000
    """Edges between groups of nodes: two braces with a thousand nodes each are a million of them."""
    related_pairs: int = 10_000
    """Pairs of states that a program relates."""
    umb_index_bytes: int = 4 << 20
    umb_members: int = 20_000
    umb_labels: int = 1_000
    umb_values: int = 16_000_000
    """Branches, labels that states have, and values of variables."""
    umb_rational_bits: int = 16_384
    """Numerator and denominator have below 4000 digits then."""
    umb_variable_bits: int = 1_024
    wmod_steps: int = 1_000_000
    """Steps in which foreach, ranges and indices are expanded."""
    wmod_automata: int = 1_000
    """Automata that foreach makes."""
    wmod_name: int = 200
    """Characters of a name with its indices."""

    batch_rows: int = 65_536
    batch_symbols: int = 1 << 21
    """Rows, and symbols, of a batch."""
    gathered_rows: int = 32_768
    gathered_characters: int = 8_000_000
    """So many rows, or characters, of Python cells become a batch."""
    csv_bytes: int = 2 << 20
    """What is read of a CSV file at once …"""
    csv_rows: int = 32_768
    """… and rows that are made of it at once."""
    parquet_nesting: int = 20
    """Levels of the footer of a Parquet file."""
    parquet_values: int = 1 << 28
    """A row group with more values is a bomb: run lengths pack thousands of millions of them into a few bytes."""
    parquet_bytes: int = 1 << 24
    """Bytes of columns that become a batch."""
    xes_bytes: int = 1 << 18
    """What is read of a log at once."""
    xes_value: int = 1 << 20
    """Characters of an attribute."""
    trace_characters: int = 1 << 23
    """Characters of traces that become a batch."""
    listed_columns: int = 30
    """Names of columns that a message lists."""
    progress_records: int = 10_000
    """Records between two reports of progress."""

    grouped_bytes: int = 192 << 20
    """Events that are grouped in memory; more are grouped by way of the disk …"""
    case_parts: int = 128
    """… in so many parts …"""
    case_part_bytes: int = 1 << 20
    """… which are written when so much of one is waiting."""
    case_hashes: int = 1 << 20
    """Hashes of cases whose events are counted …"""
    case_events: int = 100_000
    """… so that a case with more events than this and than the longest is refused before it is gathered."""
    grouped_records: int = 16_384
    grouped_events: int = 1 << 20
    """Records, and events, of a batch of cases."""

    block_rows: int = 1 << 17
    """Rows of a block, which is a row group of Parquet: about what its readers share work out by."""
    block_bytes: int = 1 << 24
    """What a block of several rows holds, as Arrow would store it."""
    written_bytes: int = 1 << 20
    """The size of each write to a file, and of each piece that is compressed, but for the last one."""
    file_rows: int = 1 << 20
    """About how many rows a cluster writes into each file."""
    digested_rows: int = 256
    """Rows whose digests are made at once: a row may have a million symbols, and Arrow's bytes end at two thousand
    millions."""


LIMITS = Adjustable(FormatLimits())
