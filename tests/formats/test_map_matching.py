"""Trips are matched to the cheapest legal path: against enumeration on small networks, and on the links of Shanghai."""

from __future__ import annotations

import csv
import gzip
import itertools
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import ParameterError, SymveilError, SymveilWarning
from symveil.geography.positions import LEFT_OUT, METRES_PER_DEGREE, NO_LINK, MatchedLinks, moves_by_ends

DATA = Path(__file__).parents[2].parent / "shared" / "data"
TOLERANCE = 50.0
SIGMA = TOLERANCE / 5
METRE = 1 / METRES_PER_DEGREE  # of latitude, and near the equator of longitude


def town(seed: int) -> dict[str, np.ndarray]:
    """A few crossings about a hundred metres apart, and roads between them, most of them two-way."""
    random = np.random.default_rng(seed)
    nodes = random.uniform(0, 250 * METRE, (5, 2))
    links = {}
    for one, other in itertools.combinations(range(5), 2):
        if random.random() < 0.7:
            line = nodes[[one, other]]
            if random.random() < 0.3:  # a bend
                line = np.insert(line, 1, line.mean(axis=0) + random.normal(0, 20 * METRE, 2), axis=0)
            if random.random() < 0.8:
                links[f"{one}{other}"] = line
            if random.random() < 0.8:
                links[f"{other}{one}"] = line[::-1]
    return links or town(seed + 1000)


def plain_candidates(links: dict[str, np.ndarray], point: np.ndarray) -> list[tuple[str, float, float]]:
    """Each link within the tolerance: how far, and how many metres along; by looking at a thousand points."""
    found = []
    for name, line in links.items():
        metres = line * METRES_PER_DEGREE
        best, passed = (math.inf, 0.0), 0.0
        for one, other in pairwise(metres):
            long = math.dist(one, other)
            share = float(np.clip(np.dot(point - one, other - one) / long**2, 0, 1)) if long else 0.0
            best = min(best, (math.dist(point, one + share * (other - one)), passed + share * long))
            passed += long
        if best[0] <= TOLERANCE:
            found.append((name, *best))
    return found


def enumerated(links: dict[str, np.ndarray], moves: Sequence[tuple[str, str]], points: np.ndarray) -> float:
    """The least cost over all candidates of all positions, with the shortest of all paths of up to seven links."""
    length = {
        name: sum(math.dist(*pair) for pair in pairwise(line * METRES_PER_DEGREE)) for name, line in links.items()
    }
    after = {name: [target for source, target in moves if source == name] for name in links}
    shortest: dict[tuple[str, str], float] = {}
    for name in links:
        walks = [(target, 0.0) for target in after[name]]
        for _ in range(7):
            for target, passed in walks:
                shortest[name, target] = min(shortest.get((name, target), math.inf), passed)
            walks = [(new, passed + length[target]) for target, passed in walks for new in after[target]]
    near = [plain_candidates(links, point) for point in points]
    best = math.inf
    for chosen in itertools.product(*near):
        cost = sum(distance**2 / (2 * SIGMA**2) for _, distance, _ in chosen)
        for step, ((one, _, begin), (other, _, end)) in enumerate(pairwise(chosen)):
            straight = math.dist(points[step], points[step + 1])
            around = length[one] - begin + shortest.get((one, other), math.inf) + end
            ways = [around] if around <= 3 * straight + 1000 else []
            ways += [end - begin] if one == other else []
            cost += min((abs(way - straight) for way in ways), default=math.inf) / SIGMA
        best = min(best, cost)
    return best


@pytest.mark.parametrize("seed", range(60))
def test_the_cheapest_path_of_all(seed: int) -> None:
    """Against all choices of candidates, each with the shortest of all paths; and the path that comes out is legal."""
    links = town(seed)
    moves = moves_by_ends(links)
    random = np.random.default_rng(seed + 10_000)
    points = np.cumsum(random.normal(40, 30, (4, 2)), axis=0) + random.uniform(0, 60, 2)
    degrees = points / METRES_PER_DEGREE
    matcher = MatchedLinks(links, tolerance=TOLERANCE, moves=moves)
    # the map is flat around its middle, some metres from the equator
    assert np.allclose(matcher.metres(degrees[:, 0], degrees[:, 1]), points, rtol=1e-8)
    trip = matcher.trip(degrees[:, 0], degrees[:, 1])
    seen = [index for index in range(4) if plain_candidates(links, points[index])]
    assert [index for index in range(4) if trip.links[index] != NO_LINK] == seen
    if trip.gaps or trip.left_out:
        assert enumerated(links, moves, points[seen]) == math.inf
        return
    if seen:
        assert trip.cost == pytest.approx(enumerated(links, moves, points[seen]), rel=1e-6, abs=1e-6)
    driven = [
        link for before, link in zip(trip.before, trip.links, strict=True) for link in (*before, link) if link >= 0
    ]
    names = [matcher.alphabet[link] for link in driven]
    assert all(one == other or (one, other) in moves for one, other in pairwise(names))


def test_the_seeds_above_have_what_they_are_about() -> None:
    """Most towns have trips of several links without a gap: else the comparison would say little."""
    several = 0
    for seed in range(60):
        links = town(seed)
        random = np.random.default_rng(seed + 10_000)
        points = (np.cumsum(random.normal(40, 30, (4, 2)), axis=0) + random.uniform(0, 60, 2)) / METRES_PER_DEGREE
        trip = MatchedLinks(links, tolerance=TOLERANCE).trip(points[:, 0], points[:, 1])
        several += len({link for link in trip.links if link >= 0}) > 1 and not trip.gaps
    assert several >= 20


def test_a_position_to_which_no_path_leads_is_left_out_and_then_the_trip_is_cut() -> None:
    far = 0.02
    links = {"a": np.array([(0, 0), (0.001, 0)]), "b": np.array([(0.001, 0), (0.002, 0)])}
    links |= {"island": np.array([(far, 0), (far + 0.001, 0)])}
    matcher = MatchedLinks(links, tolerance=50)
    one = matcher.trip(np.array([0.0005, far, 0.0015]), np.zeros(3))
    assert one.links == [0, LEFT_OUT, 1] and (one.gaps, one.left_out) == (0, 1)
    other = matcher.trip(np.array([0.0005, *(far + 0.0001 * np.arange(5))]), np.zeros(6))
    assert other.links == [0, *[LEFT_OUT] * 3, 2, 2] and (other.gaps, other.left_out) == (1, 3)
    assert matcher.trip(np.array([9.0]), np.zeros(1)).links == [NO_LINK]
    assert matcher.trip(np.empty(0), np.empty(0)).links == []


def test_moves_are_those_of_the_road_model() -> None:
    graph = nx.MultiDiGraph()
    for node, (x, y) in enumerate(np.random.default_rng(3).uniform(8, 8.1, (12, 2)).tolist()):
        graph.add_node(node, x=x, y=y)
    for one, other in nx.gnp_random_graph(12, 0.25, seed=3, directed=True).edges:
        graph.add_edge(one, other)
    roads = sv.road_model(graph)
    assert set(moves_by_ends(roads.lines)) == {(one, other) for one, other, _ in roads.chain.transitions}


# --- whole files -------------------------------------------------------------------------------------


def grid_town() -> nx.MultiDiGraph:
    """Two-way streets, six by six, as OSMnx has them: an edge for each direction."""
    graph = nx.MultiDiGraph()
    for x, y in itertools.product(range(6), range(6)):
        graph.add_node(10 * x + y, x=8.5 + 0.002 * x, y=47.3 + 0.0015 * y)
    for one, other in itertools.permutations(graph.nodes, 2):
        if abs(one // 10 - other // 10) + abs(one % 10 - other % 10) == 1:
            graph.add_edge(one, other)
    return graph


def drive(random: np.random.Generator, chain: sv.MarkovChain, lines, *, noise: float) -> tuple[list[str], np.ndarray]:
    """A trip of ten links, and a position about every sixty metres."""
    after = {state: [target for source, target, _ in chain.transitions if source == state] for state in chain.states}
    trip = [str(random.choice(list(chain.states)))]
    while len(trip) < 10:
        trip.append(str(random.choice(after[trip[-1]])))
    corners = np.array([lines[trip[0]][0], *(lines[link][-1] for link in trip)])
    scale = np.array([METRES_PER_DEGREE * math.cos(math.radians(corners[0, 1])), METRES_PER_DEGREE])
    passed = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(corners * scale, axis=0).T))])
    at = np.arange(20, passed[-1], 60)
    points = np.stack([np.interp(at, passed, corners[:, axis]) for axis in (0, 1)], axis=1)
    return trip, points + random.normal(0, 1, points.shape) * noise / scale


@pytest.mark.parametrize("noise", [0.0, 8.0])
def test_two_way_streets_keep_their_trips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: float) -> None:
    """The way of the manual: roads, symbols, privatize. Rows come shuffled, with semicolons and decimal commas."""
    monkeypatch.chdir(tmp_path)
    roads = sv.road_model(grid_town())
    roads.save("roads.json", "places.csv")
    random = np.random.default_rng(7)
    trips = [drive(random, roads.chain, roads.lines, noise=noise) for _ in range(60)]
    rows = [
        f"{number};{second // 60:02d}.{second % 60:02d};{x:.7f};{y:.7f}".replace(".", ",")
        for number, (_, points) in enumerate(trips)
        for second, (x, y) in enumerate(points.tolist())
    ]
    random.shuffle(rows)
    Path("gps.csv").write_text("trip;when;lon;lat\n" + "\n".join(rows) + "\n")
    asked = ["symbols", "gps.csv", "--case", "trip", "--order", "when", "--links", "places.csv", "--once"]
    asked += ["--delimiter", ";", "--date-format", "%M,%S", "--out", "links.csv", "--json"]
    done = symveil(*asked)
    assert done.status == 0, done.err
    assert done.document["cases"] == 60 and done.document["cases_with_gaps"] == 0
    words: dict[str, list[str]] = {}
    with Path("links.csv").open() as file:
        for row in csv.DictReader(file):
            words.setdefault(row["trip"], []).append(row["symbol"])
    legal = {(one, other) for one, other, _ in roads.chain.transitions}
    assert all(legal.issuperset(pairwise(word)) for word in words.values())
    right = sum(words[str(number)] == trip for number, (trip, _) in enumerate(trips))
    assert right >= (60 if noise == 0 else 50)
    private = sv.privatize_file(
        "links.csv", "private.csv", model="roads.json", epsilon=2, adjacency=2, mechanism="exponential",
        calibration="classic", case="trip", order="when", symbol="symbol", date_format="%M,%S",
    )  # fmt: skip
    assert private.manifest["counts"]["released"] == 60


def test_the_moves_of_a_model_decide(tmp_path: Path) -> None:
    """A turn that the model does not allow is not driven, though the links meet."""
    square = {"ab": (0, 0, 1, 0), "bc": (1, 0, 1, 1), "bd": (1, 0, 2, 0), "dc": (2, 0, 1, 1)}
    rows = "".join(f"{name},{','.join(str(each * 0.001) for each in ends)}\n" for name, ends in square.items())
    (tmp_path / "links.csv").write_text("link_id,u_lon,u_lat,v_lon,v_lat\n" + rows)
    (tmp_path / "gps.csv").write_text("trip,lon,lat\n1,0.0005,0\n1,0.001,0.0008\n")
    chain = sv.MarkovChain.from_transitions([("ab", "bd", 1), ("bd", "dc", 1), ("dc", "ab", 1), ("bc", "ab", 1)])
    for model, expected in ((None, ["ab", "bc"]), (chain, ["ab", "bd", "dc"])):
        positions = sv.position_symbols(links=tmp_path / "links.csv", model=model, tolerance=50)
        sv.symbols_file(tmp_path / "gps.csv", tmp_path / "out.csv", positions=positions, case="trip")
        symbols = [line.split(",")[1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
        assert symbols == expected
    other = sv.MarkovChain.from_transitions([("x", "x", 1)])
    with pytest.raises(ParameterError, match="model: expected states that are links, found others"):
        sv.position_symbols(links=tmp_path / "links.csv", model=other)
    with pytest.raises(ParameterError, match="model: expected `links` with it, found none"):
        sv.position_symbols(grid="2", box="0,0,1,1", model=chain)


def test_drops_above_a_hundredth_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("link_id,u_lon,u_lat,v_lon,v_lat\na,0,0,0.001,0\nb,0.02,0,0.021,0\n")
    gone = "".join(f"2,{x},0\n" for x in (0.0005, 0.0201, 0.0202, 0.0203, 0.0204, 0.0205))
    (tmp_path / "gps.csv").write_text("trip,lon,lat\n1,0.0005,0\n1,5,5\n" + gone)
    positions = sv.position_symbols(links=tmp_path / "links.csv")
    with pytest.warns(SymveilWarning) as said:
        made = sv.symbols_file(
            tmp_path / "gps.csv", tmp_path / "o.csv", positions=positions, case="trip", outside="drop"
        )
    texts = [str(each.message) for each in said]
    assert texts == list(made.warnings[1:]) and len(texts) == 3
    assert texts[0] == "1 of 8 positions (12.5 %) are left out: they have no symbol"
    assert texts[2].startswith("1 of 2 trips (50 %) have a step that no legal path of links explains")
    with pytest.raises(SymveilError, match="line 3: expected a position with a symbol, found none there"):
        sv.symbols_file(tmp_path / "gps.csv", tmp_path / "o.csv", positions=positions, case="trip")


@pytest.mark.skipif(not DATA.exists(), reason="needs the data of Shanghai")
def test_trips_of_shanghai_are_kept() -> None:
    """Simulated along true trips: without noise all are legal and hardly a link is wrong; nearest links keep none."""
    with gzip.open(DATA / "shanghai_links.csv.gz", "rt") as file:
        ends = {
            row["link_id"]: [float(row[name]) for name in ("u_lon", "u_lat", "v_lon", "v_lat")]
            for row in csv.DictReader(file)
        }
    lines = {name: np.array([each[:2], each[2:]]) for name, each in ends.items()}
    with gzip.open(DATA / "shanghai_adjacency.csv.gz", "rt") as file:
        legal = {(row["from_link"], row["to_link"]) for row in csv.DictReader(file)}
    with gzip.open(DATA / "shanghai_trips.csv.gz", "rt") as file:
        trips = [row["links"].split() for row in itertools.islice(csv.DictReader(file), 0, 24_000, 120)]
    matcher = MatchedLinks(lines, tolerance=50, moves=sorted(legal))
    random = np.random.default_rng(1)
    scale = np.array([METRES_PER_DEGREE * math.cos(math.radians(31.22)), METRES_PER_DEGREE])
    for noise, kept_at_least, right_at_least in ((0.0, 1.0, 0.97), (10.0, 0.99, 0.96)):
        kept = right = links = by_itself = 0
        for trip in trips:
            corners = np.array([lines[trip[0]][0], *(lines[link][1] for link in trip)]) * scale
            passed = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
            at = np.arange(15, passed[-1], 80)
            points = np.stack([np.interp(at, passed, corners[:, axis]) for axis in (0, 1)], axis=1)
            x, y = ((points + random.normal(0, 1, points.shape) * noise) / scale).T
            found = matcher.trip(x, y)
            driven = [link for before, link in zip(found.before, found.links, strict=True) for link in (*before, link)]
            word = [matcher.alphabet[link] for link, _ in itertools.groupby(driven) if link >= 0]
            kept += legal.issuperset(pairwise(word))
            right += len(set(word) & set(trip))
            links += len(set(word) | set(trip))
            alone = [
                matcher.alphabet[link] for link, _ in itertools.groupby(matcher.numbers(x, y).tolist()) if link >= 0
            ]
            by_itself += legal.issuperset(pairwise(alone))
        assert kept >= kept_at_least * len(trips) and right >= right_at_least * links
        assert by_itself < 0.05 * len(trips)


# --- tables of edges, and encodings ---------------------------------------------------------------------


def test_a_table_of_edges_is_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    roads = sv.road_model(grid_town())
    rows = []
    for name, line in roads.lines.items():
        begin, end = name.split("-")
        cells = (name, begin, end, *(f"{each:.7f}".replace(".", ",") for each in (*line[0], *line[1])))
        rows.append(";".join(cells))
    Path("edges.csv").write_text("street;start;end;u_lon;u_lat;v_lon;v_lat\n" + "\n".join(rows) + "\n")
    named = {"link": "street", "source": "start", "target": "end", "delimiter": ";"}
    same = sv.road_model("edges.csv", **named)
    assert same.chain == roads.chain and list(same.lines) == list(roads.lines)
    typed = ["--link", "street", "--from", "start", "--to", "end", "--delimiter", ";"]
    done = symveil("roads", "edges.csv", *typed, "--out", "roads.json", "--places-out", "places.csv")
    assert done.status == 0, done.err
    assert sv.load_model("roads.json") == roads.chain
    line = symveil("roads", "edges.csv", *typed[2:], "--out", "r.json").assert_one_error_line()
    assert "expected one column symbol, state, link_id, id or name (--link), found none in 7 columns" in line
    Path("plain.csv").write_text("id,u,v\na,1,2\nb,2,1\n")
    assert set(sv.road_model("plain.csv").chain.states) == {"a", "b"}
    line = symveil("roads", "plain.csv", "--out", "r.json", "--places-out", "p.csv").assert_one_error_line()
    assert line.startswith("symveil: error: places-out: expected where links lie") and not Path("r.json").exists()
    with pytest.raises(ParameterError, match="link: expected a CSV file with it, found another network"):
        sv.road_model(grid_town(), link="street")
    notes: list[str] = []
    assert sv.load_model("plain.csv", notes=notes) == sv.road_model("plain.csv").chain
    assert "a table of edges: its links are the states" in notes[0]
    Path("plain.csv").write_text("id,u,v\na,1,2\na,2,1\n")
    with pytest.raises(SymveilError, match="expected each link once, found one again"):
        sv.road_model("plain.csv")


@pytest.mark.parametrize(
    ("encoding", "called"),
    [("utf-16", "UTF-16"), ("utf-32", "UTF-32"), ("cp1252", "Windows-1252"), ("latin-1", "Windows-1252 or Latin-1")],
)
def test_other_encodings_are_named_without_a_symbol(tmp_path: Path, encoding: str, called: str) -> None:
    text = "id,s\n1,café\n" if encoding == "latin-1" else "id,s\n1,caf\u00e9 \u20ac\n"
    file = tmp_path / "in.csv"
    file.write_bytes(text.encode(encoding))
    with pytest.raises(
        SymveilError, match=f"in UTF-8, found other bytes; it looks like {called}: save it as UTF-8$"
    ) as error:
        sv.privatize_file(file, tmp_path / "out.csv", alphabet=["café"], epsilon=1)
    assert "caf" not in str(error.value)
