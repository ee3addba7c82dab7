"""How an example is spoilt: bytes, tokens, lines and, where it is JSON, its tree. Everything follows from one seed."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from random import Random

from fuzz.special import SPECIAL

HOSTILE = [
    *(
        b"",
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n\r\n",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"\x1f\x8b",
        b"\x0b",
    ),
    *(b"0", b"-1", b"1", b"2", b"0.5", b"1.0", b"1/2", b"1/0", b"0/1", b"-1/3", b"1/", b"/", b"1//2", b"1/2/3", b"6/5"),
    *(
        b"1e5",
        b"1e-400",
        b"1e400",
        b"1e999999999",
        b"1e-999999999",
        b"NaN",
        b"Infinity",
        b"-inf",
        b"nan",
        b"1_0",
        b"+1",
    ),
    *(b"9" * 19, b"9" * 400, b"9" * 5000, b"0." + b"0" * 300 + b"1", b"1" + b"0" * 30, b"4294967296", b"2147483648"),
    *("²".encode(), "½".encode(), "٣".encode(), "−1".encode(), "é".encode(), "\u2028".encode(), "\U0001f600".encode()),
    *("\ufeff".encode(), "\u200b".encode(), "\x85".encode(), b"\\ud800", b"\\u0000", b"\\n", b'"', b"'", b"\\", b"%s"),
    *(b"null", b"true", b"[]", b"{}", b"[[", b"{", b"}", b"]", b",", b":", b"=", b";", b"|", b"#", b"@", b"&", b"--"),
    *(b"<", b">", b"</", b"/>", b"<!--", b"<![CDATA[", b"<?x", b"<!DOCTYPE a>", b"&lt;", b"&x;", b"&#0;", b"&#xD800;"),
    *(b"a", b"b", b"__proto__", b"id", b"EVENTS", b"o", b"uo", b"all", b"init", b"deadlock", b"a" * 5000, b"[" * 3000),
]

VALUES: list[object] = [
    *(None, True, False, 0, 1, -1, 2, 0.5, 1e300, 10**30, 1 << 63, 1e-300, -0.0, "", "a", "b", "0", "1", "1/2", "1/0"),
    *(
        "-1",
        "x" * 3000,
        "\x00",
        "\ud800",
        "\u2028",
        "½",
        "²",
        "all",
        "tight",
        "inverse",
        "NaN",
        "1e999999999",
        "/",
        "..",
    ),
    *("pipe.csv", "zero.csv", "loop.csv", "/dev/zero", "../trips.csv", "sub/x.csv", 10**9, 10**6, -(10**9), 1e-300),
    *([], [[]], [None], ["a"], ["a", "a"], [["a", "b", "1/2"]], {}, {"a": "b"}, {"": 0}, [[[]]], ["a", 1], "/dev/null"),
]
"""What is put into a JSON document in another value's place."""

_TOKEN = re.compile(rb"[A-Za-z0-9_.]+|[ \t]+|[\s\S]")
_NUMBER = re.compile(rb"-?[0-9]+(?:[./][0-9]+)?")


def spoil(random: Random, examples: Sequence[bytes], *, is_json: bool) -> bytes:
    """One of the examples with a few things wrong."""
    if random.random() < 0.01:
        return random.choice(SPECIAL)
    content = random.choice(examples)
    ways: list[Callable[[Random, bytes], bytes]] = [_bytes, _tokens, _lines, _numbers]
    if is_json:
        ways += [_tree] * 4
    for _ in range(min(8, 1 + int(random.expovariate(0.8)))):
        content = random.choice(ways)(random, content)
    if random.random() < 0.05:
        content = _spliced(random, content, random.choice(examples))
    if random.random() < 0.08:
        content = _nested(random, content)
    if random.random() < 0.03:
        content = gzip.compress(content, 1, mtime=0)
        if random.random() < 0.5:
            content = _bytes(random, content)
    return content[:_LONGEST]


_LONGEST = 200_000

PAIRS = [
    *((b"{", b"}"), (b"[", b"]"), (b"(", b")"), (b"<", b">"), (b"<a>", b"</a>"), (b'{"a":', b"}"), (b'{"a":[', b"]}")),
    *((b"/*", b"*/"), (b'"', b'"'), (b"subgraph s {", b"}"), (b"a->{", b"}"), (b"<trace>", b"</trace>")),
    *((b"<event>", b"</event>"), (b'<list key="a">', b"</list>"), (b"<graph>", b"</graph>"), (b"<data>", b"</data>")),
]
DEPTHS = (2, 5, 12, 30, 101, 990, 20_000)


def nests(example: bytes) -> list[bytes]:
    """An example with every kind of nesting in its middle, closed and open, shallow and deep."""
    at = len(example) // 2
    return [
        (example[:at] + begin * depth + (end * depth if closed else b"") + example[at:])[:_LONGEST]
        for begin, end in PAIRS
        for depth in (12, 20_000)
        for closed in (True, False)
    ]


def _nested(random: Random, content: bytes) -> bytes:
    """A piece wrapped deeply, or opened and never closed."""
    begin, end = random.choice(PAIRS)
    depth = random.choice(DEPTHS)
    first, last = sorted(random.randrange(len(content) + 1) for _ in range(2))
    closed = end * depth if random.random() < 0.7 else b""
    return content[:first] + begin * depth + content[first:last] + closed + content[last:]


def _bytes(random: Random, content: bytes) -> bytes:
    at = random.randrange(len(content) + 1)
    size = int(random.expovariate(0.2)) + 1
    return random.choice(
        [
            lambda: content[:at] + bytes([random.randrange(256)]) + content[at + 1 :],
            lambda: content[:at] + content[at + size :],
            lambda: content[:at] + random.choice(HOSTILE) + content[at:],
            lambda: content[:at] + content[at : at + size] * random.choice([2, 3, 50]) + content[at + size :],
            lambda: content[:at],
            lambda: (
                content[:at] + bytes([content[at] ^ 1 << random.randrange(8)]) + content[at + 1 :]
                if at < len(content)
                else content
            ),
        ]
    )()


def _tokens(random: Random, content: bytes) -> bytes:
    return b"".join(_changed(random, _TOKEN.findall(content)))


def _lines(random: Random, content: bytes) -> bytes:
    return b"".join(_changed(random, content.splitlines(keepends=True)))


def _numbers(random: Random, content: bytes) -> bytes:
    found = list(_NUMBER.finditer(content))
    if not found:
        return content
    one = random.choice(found)
    return content[: one.start()] + random.choice(HOSTILE) + content[one.end() :]


def _changed(random: Random, pieces: list[bytes]) -> list[bytes]:
    """Pieces with one of them replaced, doubled, dropped, moved or taken for another."""
    if not pieces:
        return [random.choice(HOSTILE)]
    one, other = random.randrange(len(pieces)), random.randrange(len(pieces))
    way = random.randrange(5)
    if way == 0:
        pieces[one] = random.choice(HOSTILE)
    elif way == 1:
        pieces[one : one + 1] = [pieces[one]] * random.choice([2, 2, 2, 20])
    elif way == 2:
        del pieces[one]
    elif way == 3:
        pieces[one], pieces[other] = pieces[other], pieces[one]
    else:
        pieces[one] = pieces[other]
    return pieces


def _spliced(random: Random, content: bytes, other: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)] + other[random.randrange(len(other) + 1) :]


def _tree(random: Random, content: bytes) -> bytes:
    """A JSON text with one value replaced, dropped, doubled or wrapped; lines of JSON one line at a time."""
    lines = content.splitlines(keepends=True)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        if len(lines) < 2:
            return _tokens(random, content)
        at = random.randrange(len(lines))
        return b"".join([*lines[:at], _tree(random, lines[at].strip()) + b"\n", *lines[at + 1 :]])
    holders: list[tuple[list[object] | dict[str, object], int | str]] = []
    _places(document, holders)
    if not holders:
        return json.dumps(random.choice(VALUES)).encode()
    holder, key = random.choice(holders)
    way = random.randrange(6)
    if way <= 2:
        holder[key] = random.choice(VALUES)  # type: ignore[index]
    elif way == 3:
        del holder[key]  # type: ignore[arg-type]
    elif way == 4:
        if isinstance(holder, list):
            holder.insert(int(key), holder[int(key)])
        else:
            holder[random.choice(["", "states", "initial", "extra", str(key).upper()])] = holder[str(key)]
    else:
        holder[key] = [holder[key]]  # type: ignore[index]
    return json.dumps(document, ensure_ascii=random.random() < 0.7).encode("utf-8", errors="surrogatepass")


def _places(value: object, holders: list[tuple[list[object] | dict[str, object], int | str]]) -> None:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            holders += [(each, index) for index in range(len(each))]
            waiting += each
        elif isinstance(each, dict):
            holders += [(each, key) for key in each]
            waiting += each.values()
