"""Make `city_trips.csv`, synthetic trips on the roads of `roads.json`: `python examples/make_city_trips.py`.

Nobody ever drove them. Riders go to the station, to the market or home, along ways that are short on that day: the cost
of each street is drawn anew for each trip, from a fixed seed.
"""

from __future__ import annotations

import heapq
import json
import random
from pathlib import Path

HERE = Path(__file__).parent
TRIPS, RIDERS = 2000, 1500
HOMES = {"harbour rd": 4, "quay": 3, "mill ln": 2, "ring rd w": 1}
GOALS = {"station": 5, "market st": 3, "school ln": 2}


def way(turns: dict[str, list[str]], origin: str, goal: str, draw: random.Random) -> list[str]:
    """The cheapest streets from one to another, when every street costs something between 1 and 3."""
    cost = {street: 1 + 2 * draw.random() for street in turns}
    queue, seen = [(0.0, [origin])], set()
    while queue:
        spent, streets = heapq.heappop(queue)
        if streets[-1] == goal:
            return streets
        if streets[-1] not in seen:
            seen.add(streets[-1])
            for after in turns[streets[-1]]:
                heapq.heappush(queue, (spent + cost[after], [*streets, after]))
    raise ValueError(f"no way from {origin} to {goal}")


def trips() -> str:
    """All trips, the same each time: trip, rider, and the streets with bars between them."""
    draw = random.Random(2026)  # noqa: S311 - made-up data, nothing private
    turns: dict[str, list[str]] = {}
    for street, after, _ in json.loads((HERE / "roads.json").read_text(encoding="utf-8"))["transitions"]:
        turns.setdefault(street, []).append(after)
    lines = ["trip,rider,streets"]
    for number in range(1, TRIPS + 1):
        rider = number if number <= RIDERS else draw.randint(1, RIDERS)
        home, goal = (draw.choices(list(each), list(each.values()))[0] for each in (HOMES, GOALS))
        ends = (home, goal) if draw.random() < 0.6 else (goal, home)
        lines.append(f"{number},rider-{rider},{'|'.join(way(turns, *ends, draw))}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write them."""
    (HERE / "city_trips.csv").write_text(trips(), encoding="utf-8")


if __name__ == "__main__":
    main()
