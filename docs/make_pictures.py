"""Draw the pictures of the README and the documentation: `python docs/make_pictures.py`."""

from pathlib import Path

import architecture_picture

import symveil as sv
from symveil.examples.millford import millford, millford_trips, town_plan
from symveil.pictures.charts import Curve, curves_chart
from symveil.pictures.maps import town_svg
from symveil.pictures.marks import save_chart
from symveil.pictures.svg import FONT
from symveil.randomness import NotPrivateSeededBits
from symveil.tasks.demo import ADJACENCY, private_mechanism
from symveil.tasks.verify import privacy_curve

FOLDER = Path(__file__).parent / "pictures"


def main() -> None:
    """Draw all of them."""
    words = sv.words("abcd", 14)
    epsilons = [step / 5 for step in range(1, 51)]

    def errors(kind: type[sv.Exponential] | type[sv.PermuteAndFlip], calibration: str) -> list[float]:
        laws = [kind(words, epsilon=epsilon, calibration=calibration).distances() for epsilon in epsilons]
        return [law.expected_error for law in laws]

    save_chart(
        curves_chart(
            [
                Curve("exponential, as published (J19)", epsilons, errors(sv.Exponential, "classic"), "dashed"),
                Curve("permute-and-flip, as published (B26)", epsilons, errors(sv.PermuteAndFlip, "classic")),
                Curve("symveil, the same guarantee", epsilons, errors(sv.Exponential, "tight")),
            ],
            title="Price of privacy: symbols changed in a word of 14 over 4 letters",
            x_label="ε (smaller is more private)",
            y_label="expected symbols changed",
        ),
        FOLDER / "price_of_privacy.svg",
    )
    medical = sv.load_model(Path(__file__).parents[1] / "examples" / "medical.json")
    (FOLDER / "medical.svg").write_text(medical.to_svg(), encoding="utf-8")
    levenshtein = sv.levenshtein_automaton("abc", 2)
    (FOLDER / "levenshtein_automaton.svg").write_text(levenshtein.to_svg(), encoding="utf-8")
    pin_checker = sv.load_model(FOLDER.parents[1] / "examples" / "pin_checker.json")
    curve = privacy_curve(pin_checker, alphas=[f"{100 + step}/100" for step in range(31)])  # type: ignore[arg-type]
    curve.draw(FOLDER / "pin_checker_privacy.svg", title="Privacy of the PIN checker (C19 Fig. 4b)")
    draw_price_of_hiding_the_length()
    draw_demo()
    architecture_picture.draw()


def draw_demo(epsilon: int = 6) -> None:
    """A trip of the demo, its private version, and what the published mechanism makes of it under the same promise.

    Of seven blocks symveil changes 1, 2, 0, 1, 0, 0, 4, 0, 3, 3, 4, 2 with the seeds 1 to 12 (1.5 on average), the
    published mechanism 3, 5, 7, 7, 7, 5, 7, 7, 7, 7, 6, 7 (5.6). Seed 2 is drawn: about the average of both.
    """
    trip = millford_trips()["trip-0041"].blocks
    language = sv.runs(millford(), len(trip))
    published = sv.Exponential(language, epsilon=epsilon, adjacency=ADJACENCY, calibration="classic")
    shown = [("a true trip home", trip)]
    for name, mechanism in (("private, by symveil", private_mechanism(language, epsilon)), ("as published", published)):
        released = mechanism.release(trip, bits=NotPrivateSeededBits(2))
        shown.append((f"{name}, ε = {epsilon}", tuple(map(str, released))))
    wide, high = town_plan().size
    pieces = []
    for number, (name, each) in enumerate(shown):
        original = trip if number else None
        svg = town_svg(town_plan(), each, title=name, original=original).replace(
            ' style="max-width:100%;height:auto"', ""
        )
        left, below = number * (wide + 40), high + 70
        pieces.append(svg.replace("<svg ", f'<svg x="{left:.0f}" ', 1))
        pieces.append(
            f'<text x="{left + wide / 2:.0f}" y="{below:.0f}" font-size="52" text-anchor="middle">{name}</text>'
        )
    across = 3 * wide + 80
    (FOLDER / "demo.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{across / 4:.0f}" height="{(high + 100) / 4:.0f}" '
        f'viewBox="0 0 {across:.0f} {high + 100:.0f}" font-family="{FONT}"><title>The demo</title>'
        f'<rect width="{across:.0f}" height="{high + 100:.0f}" fill="#ffffff"/>' + "".join(pieces) + "</svg>\n",
        encoding="utf-8",
    )


def draw_price_of_hiding_the_length() -> None:
    """What it costs to hide insertions and deletions too, on one word of 14 letters."""
    word = "abcdabcdabcdab"
    epsilons = [step / 4 for step in range(4, 31)]
    hamming, channel, truncated = [], [], []
    for epsilon in epsilons:
        hamming.append(sv.Exponential(sv.words("abcd", 14), epsilon=epsilon).distances().expected_error)
        channel.append(sv.EditChannel("abcd", epsilon=epsilon, max_length=16).expected_edits(len(word)))
        law = sv.TruncatedLevenshtein(sv.words_up_to("abcd", 16), epsilon=epsilon).distances(word)
        truncated.append(law.bounds.upper if law.bounds else law.expected_error)
    save_chart(
        curves_chart(
            [
                Curve("Hamming: the length is public, substitutions are hidden", epsilons, hamming, "dashed"),
                Curve("edit channel: insertions and deletions too", epsilons, channel),
                Curve("truncated Levenshtein: the same, at most 16 letters", epsilons, truncated),
            ],
            title="Price of hiding the length: a word of 14 over 4 letters",
            x_label="ε (smaller is more private)",
            y_label="expected edits",
        ),
        FOLDER / "price_of_hiding_the_length.svg",
    )


if __name__ == "__main__":
    main()
