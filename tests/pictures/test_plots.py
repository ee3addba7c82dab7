"""Plots are written whole or not at all, and touch nothing but their file."""

from __future__ import annotations

import os
import stat
import sys
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from symveil.errors import FileError, InputError, ParameterError
from symveil.pictures import marks
from symveil.pictures.charts import PALETTE, Band, Curve, bars_chart, curves_chart
from symveil.pictures.marks import save_chart
from symveil.pictures.text import BARS
from symveil.storage import files

X = [1.0, 2.0, 3.0]
CURVES = [
    Curve("solid line", X, [3, 2, 1]),
    Curve("dashed line with a rather long name (J19)", X, [3, 1, 0.5], "dashed"),
    Curve("dotted", X, [float("nan"), 1, 0.5], "dotted"),
    Curve("points", np.array(X), np.array([1.0, 1.5, 2.5]), "points"),
]
BANDS = [Band("bounds", X, [2, 1, 0], [4, 3, 2])]
WORDS = {"title": "costs $5 and $6", "x_label": "ε", "y_label": "E[ℓ] <&>"}


def curves(path, **changes):
    save_chart(curves_chart(**{"curves": CURVES, "bands": BANDS, **WORDS, **changes}), path)


def bars(path, **changes):
    save_chart(bars_chart(**{"positions": [0, 1, 2], "heights": [0.5, 0.3, 0.2], **WORDS, **changes}), path)


DRAWINGS = pytest.mark.parametrize("draw", [curves, bars])


@DRAWINGS
def test_a_png_is_a_picture_with_something_on_it(draw, tmp_path):
    draw(tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 600
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 10


@DRAWINGS
def test_an_svg_is_well_formed(draw, tmp_path):
    draw(str(tmp_path / "plot.SVG"))
    root = ElementTree.fromstring((tmp_path / "plot.SVG").read_bytes())  # noqa: S314 - just written
    assert root.tag.endswith("svg")


@DRAWINGS
def test_a_pdf_is_one(draw, tmp_path):
    draw(tmp_path / "plot.pdf")
    assert (tmp_path / "plot.pdf").read_bytes().startswith(b"%PDF-")


@DRAWINGS
def test_without_matplotlib_there_is_svg_and_one_line_says_what_to_install(draw, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    draw(tmp_path / "plot.svg")
    with pytest.raises(InputError, match=r"symveil\[plots\]"):
        draw(tmp_path / "plot.png")
    assert [path.name for path in tmp_path.iterdir()] == ["plot.svg"]


def test_png_and_svg_have_the_same_marks(tmp_path):
    """Where the SVG has ink of a colour the PNG has it too: at the middle of the second bar, and above it not."""
    bars(tmp_path / "plot.png", positions=[0, 1], heights=[0.25, 1.0])
    bars(tmp_path / "plot.svg", positions=[0, 1], heights=[0.25, 1.0])
    root = ElementTree.fromstring((tmp_path / "plot.svg").read_bytes())  # noqa: S314 - just written
    first, second = (each for each in root.iter() if each.get("fill") == BARS)
    with Image.open(tmp_path / "plot.png") as picture:
        scale = picture.width / float(root.get("width"))
        x = (float(first.get("x")) + float(first.get("width")) / 2) * scale
        top, high = float(first.get("y")), float(first.get("height"))
        inside, above = (
            picture.convert("RGB").getpixel((round(x), round(y * scale))) for y in (top + high / 3, top - 12)
        )
    assert f"#{inside[0]:02x}{inside[1]:02x}{inside[2]:02x}" == BARS
    assert above == (255, 255, 255)
    assert float(second.get("height")) == pytest.approx(4 * high, abs=0.3)


@DRAWINGS
def test_only_the_file_itself_appears(draw, tmp_path):
    draw(tmp_path / "new" / "plot.png")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["plot.png"]


@DRAWINGS
@pytest.mark.parametrize("name", ["plot.gif", "plot", "plot.png.txt", ".svg", ""])
def test_other_suffixes_are_refused_before_anything_is_written(draw, name, tmp_path):
    with pytest.raises(ParameterError, match=r"\.svg, \.png or \.pdf"):
        draw(tmp_path / "new" / name)
    assert list(tmp_path.iterdir()) == []


@DRAWINGS
def test_a_failure_while_drawing_leaves_the_old_file_as_it_was(draw, tmp_path, monkeypatch):
    old = tmp_path / "plot.png"
    old.write_bytes(b"old")

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(marks, "_rendered", interrupted)
    with pytest.raises(KeyboardInterrupt):
        draw(old)
    assert old.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["plot.png"]


@DRAWINGS
@pytest.mark.parametrize(
    ("problem", "seen"), [(OSError(28, "No space left on device"), FileError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_a_failure_while_writing_leaves_nothing_behind(draw, problem, seen, tmp_path, monkeypatch):
    def fail(self, target):
        raise problem

    monkeypatch.setattr(files.Path, "replace", fail)
    with pytest.raises(seen):
        draw(tmp_path / "plot.svg")
    assert list(tmp_path.iterdir()) == []


@DRAWINGS
def test_a_place_that_cannot_be_written_is_named(draw, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FileError, match=r"plot\.png"):
        draw(tmp_path / "file" / "plot.png")
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_folder_in_the_place_of_the_file_is_left_alone(tmp_path):
    (tmp_path / "plot.png").mkdir()
    with pytest.raises(FileError):
        curves(tmp_path / "plot.png")
    assert [path.name for path in tmp_path.iterdir()] == ["plot.png"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_file_is_as_readable_as_any_other(tmp_path):
    (tmp_path / "other").write_text("")
    curves(tmp_path / "plot.png")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_global_state_is_left_to_the_user(tmp_path):
    before, pyplot_before = dict(mpl.rcParams), "matplotlib.pyplot" in sys.modules
    curves(tmp_path / "plot.png")
    bars(tmp_path / "plot.svg")
    assert dict(mpl.rcParams) == before
    assert ("matplotlib.pyplot" in sys.modules) == pyplot_before


def test_the_same_numbers_make_the_same_png(tmp_path):
    curves(tmp_path / "one.png")
    curves(tmp_path / "two.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_a_logarithmic_axis(tmp_path):
    curves(tmp_path / "plot.png", log_y=True, bands=())
    with pytest.raises(ParameterError, match="positive"):
        curves(tmp_path / "other.png", curves=[Curve("zero", [1], [0])], bands=(), log_y=True)


@pytest.mark.parametrize("count", [0, 1, 9])
def test_any_number_of_curves(count, tmp_path):
    many = [Curve(f"curve {number}", [0, 1], [1, number / 100]) for number in range(count)]
    curves(tmp_path / "plot.png", curves=many, bands=())
    assert (tmp_path / "plot.png").exists()


@pytest.mark.parametrize("count", [1, 2, 120, 121, 3000])
def test_any_number_of_bars(count, tmp_path):
    bars(tmp_path / "plot.png", positions=range(count), heights=np.full(count, 1 / count), mark=0.0, mark_label="here")
    assert (tmp_path / "plot.png").exists()


def test_bars_of_no_height_are_drawn(tmp_path):
    bars(tmp_path / "plot.png", heights=[0, 0, 0])


@pytest.mark.parametrize("heights", [[0.5], [], [0.5, -0.1, 0.6], [0.5, float("nan"), 0.5]])
def test_heights_that_are_no_law_are_refused(heights, tmp_path):
    with pytest.raises(ParameterError, match="heights"):
        bars(tmp_path / "plot.png", heights=heights)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: Curve("", [1, 2], [1]),
        lambda: Curve("", [], []),
        lambda: Curve("", [1], [float("inf")]),
        lambda: Curve("", [1], [1], "wavy"),
        lambda: Band("", [1, 2], [1, 2], [1]),
    ],
)
def test_curves_and_bands_that_cannot_be_drawn_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_a_curve_does_not_change_with_the_list_it_came_from():
    values = [1.0, 2.0]
    curve = Curve("c", values, values)
    values[0] = 9.0
    assert curve.y == (1.0, 2.0)
    assert curve == Curve("c", np.array([1.0, 2.0]), (1, 2))


@pytest.mark.parametrize("colour", PALETTE)
def test_text_in_every_colour_can_be_read_on_white(colour):
    """WCAG 2 contrast of at least 4.5."""
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert 1.05 / (luminance + 0.05) >= 4.5
