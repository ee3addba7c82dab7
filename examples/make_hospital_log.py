"""Make `hospital.xes` and `hospital_visits.csv`, synthetic logs of hospital visits: run it from anywhere.

Nobody ever made these visits. They are walks through the public pathway in `visits.json`, with the steps drawn from a
fixed seed; times, patients and wards are made up in the same way. The second log has many visits and nothing but steps.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
VISITS, PATIENTS = 40, 32
MANY_VISITS, MANY_PATIENTS = 3000, 2400


def steps(draw: random.Random) -> list[str]:
    """One visit: registered, triaged, tested perhaps, seen by a doctor, and out again."""
    visit = ["registration", "triage"]
    while len(visit) < 6 and draw.random() < 0.7:
        visit.append(draw.choice(["laboratory", "laboratory", "imaging"]))
    visit.append("doctor")
    if draw.random() < 0.2:
        return [*visit, "admission"]
    return [*visit, *(["pharmacy"] if draw.random() < 0.6 else []), "discharge"]


def log() -> str:
    """The whole log, the same each time."""
    draw = random.Random(2026)  # noqa: S311 - made-up data, nothing private
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<log xes.version="1.0" xmlns="http://www.xes-standard.org/">']
    for number in range(1, VISITS + 1):
        patient = number if number <= PATIENTS else draw.randint(1, PATIENTS)
        ward = draw.choice(["east", "west"])
        clock = datetime(2026, 1, 5, 8, tzinfo=UTC) + timedelta(days=number // 4, minutes=draw.randint(0, 500))
        lines.append("  <trace>")
        lines.append(f'    <string key="concept:name" value="visit-{number:02d}"/>')
        lines.append(f'    <string key="patient" value="patient-{patient:02d}"/>')
        lines.append(f'    <string key="ward" value="{ward}"/>')
        for step in steps(draw):
            clock += timedelta(minutes=draw.randint(4, 55))
            lines.append(
                f'    <event><string key="concept:name" value="{step}"/>'
                f'<date key="time:timestamp" value="{clock.isoformat()}"/></event>'
            )
        lines.append("  </trace>")
    lines.append("</log>")
    return "\n".join(lines) + "\n"


def many_visits() -> str:
    """A log with many visits as CSV, the same each time: visit, patient, and the steps with blanks between them."""
    draw = random.Random(1789)  # noqa: S311 - made-up data, nothing private
    lines = ["visit,patient,steps"]
    for number in range(1, MANY_VISITS + 1):
        patient = number if number <= MANY_PATIENTS else draw.randint(1, MANY_PATIENTS)
        lines.append(f"{number},patient-{patient},{' '.join(steps(draw))}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write both logs."""
    (HERE / "hospital.xes").write_text(log(), encoding="utf-8")
    (HERE / "hospital_visits.csv").write_text(many_visits(), encoding="utf-8")


if __name__ == "__main__":
    main()
