# SPDX-License-Identifier: Apache-2.0
"""The data that a figure of matplotlib shows: application/vnd.fsd.chart+json.

Each kind of chart has type, title and elements; those with two axes have their
labels and units, and lines and points have ticks and scales as well. A figure with
several axes is a "superchart", whose elements are charts.
"""
import re
import sys
import traceback

UNIT = re.compile(r"\s\((.*?)\)|\[(.*?)\]")


def chart_of(figure, most):
    """Return: the chart; None if it has no data, or more than so many points."""
    try:
        axes = figure.get_axes()
        if not any(ax.has_data() for ax in axes):
            return None
        if sum(map(_size, axes)) > most:
            return None
        if len(axes) == 1:
            return _plain(_chart(axes[0]))
        return _plain({"type": "superchart",
                       "title": _suptitle(figure) or None,
                       "elements": [_chart(ax) for ax in axes]})
    except Exception:
        print("the figure's data cannot be told:", file=sys.stderr)
        traceback.print_exc()
        return None


def _suptitle(figure):
    if hasattr(figure, "get_suptitle"):
        return figure.get_suptitle()
    return figure._suptitle.get_text() if figure._suptitle else ""


def _size(ax):
    return sum(len(line.get_xdata()) for line in ax.get_lines()) + sum(
        len(points.get_offsets()) for points in ax.collections) + len(ax.patches)


def _plain(value):
    """As JSON has it."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (bool, str)):
        return value if value is None else (
            bool(value) if isinstance(value, bool) else str(value))
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ == "datetime64":
        return str(value.astype("datetime64[s]"))
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (int, float)):
        value = float(value) if isinstance(value, float) or (
            abs(value) >= 2 ** 63) else int(value)
        return value if value - value == 0 else None
    try:
        return _plain(float(value))
    except (TypeError, ValueError):
        return str(value)


# --- which kind it is

def _places(line):
    """What the line's program has given: x and y, in three dimensions z as well. What
    it has otherwise there, after drawing, are places on the picture."""
    if hasattr(line, "get_data_3d"):
        return line.get_data_3d()
    return line.get_xdata(), line.get_ydata()


def _is_grid_line(line):
    x, y, *more = _places(line)
    return not more and len(x) == 2 and len(y) == 2 and (x[0] == x[1] or y[0] == y[1])


def _chart(ax):
    from matplotlib import collections, lines, patches, text

    things = [one for one in ax._children if not isinstance(one, text.Text)]
    drawn = [one for one in things if not (
        isinstance(one, lines.Line2D) and _is_grid_line(one))]
    kinds = (
        (things, lines.Line2D, _line),
        (things, (patches.PathPatch, lines.Line2D), _box_and_whisker),
        (drawn, collections.PathCollection, _scatter),
        (drawn, patches.Wedge, _pie),
        (drawn, patches.Rectangle, _bar),
    )
    chart = {"type": "unknown", "title": ax.get_title() or None, "elements": []}
    for found, kind, fill in kinds:
        if all(isinstance(one, kind) for one in found):
            fill(ax, chart)
            break
    return chart


# --- what they have in common

def _labels(ax, chart, swap=False):
    x, y = ax.get_xlabel() or None, ax.get_ylabel() or None
    if swap:
        x, y = y, x
    for name, label in ("x", x), ("y", y):
        found = UNIT.search(label) if label else None
        chart[f"{name}_label"] = label
        chart[f"{name}_unit"] = (found[1] or found[2]) if found else None


def _texts(labels):
    return [label.get_text() for label in labels]


def _is_dates(axis):
    # Until matplotlib 3.10 there was no get_converter().
    converter = axis.get_converter() if hasattr(axis, "get_converter") else (
        axis.converter)
    return "Date" in type(converter).__name__


def _scale(dates, scale, ticks, texts):
    if dates:
        return "datetime"
    if scale != "linear":
        return scale
    # Names stand at 0, 1, 2, ...
    for at, (tick, text) in enumerate(zip(ticks, texts)):
        if tick != at or text == str(at):
            return "linear"
    return "categorical"


def _axes(ax, chart):
    from matplotlib.dates import num2date

    for name, axis in ("x", ax.xaxis), ("y", ax.yaxis):
        texts, dates = _texts(axis.get_ticklabels()), _is_dates(axis)
        ticks = [num2date(tick).isoformat() if dates else float(tick)
                 for tick in axis.get_ticklocs()]
        chart[f"{name}_ticks"] = ticks
        chart[f"{name}_tick_labels"] = texts
        chart[f"{name}_scale"] = _scale(dates, axis.get_scale(), ticks, texts)


# --- each kind

def _line(ax, chart):
    chart["type"] = "line"
    _labels(ax, chart)
    _axes(ax, chart)
    for line in ax.get_lines():
        if _is_grid_line(line):
            continue
        label = str(line.get_label())
        if label.startswith("_child"):
            label = f"Line {label[6:]}"
        chart["elements"].append({
            "label": label,
            "points": list(zip(*_places(line)))})


def _scatter(ax, chart):
    chart["type"] = "scatter"
    _labels(ax, chart)
    _axes(ax, chart)
    for points in ax.collections:
        chart["elements"].append({
            "label": str(points.get_label()),
            "points": list(zip(*points._offsets3d)) if hasattr(
                points, "_offsets3d") else [
                tuple(point) for point in points.get_offsets()]})


def _pie(ax, chart):
    chart["type"] = "pie"
    for wedge in ax.patches:
        angle = abs(float(wedge.theta2) - float(wedge.theta1))
        chart["elements"].append({
            "label": str(wedge.get_label()), "angle": _rounded(angle),
            "radius": float(wedge.r)})


def _rounded(number):
    """Without the noise of single precision: 324 has six digits, 0.1 has nine."""
    number = float(number)
    if number - number != 0:
        return number  # no number, or without end
    digits = max(1, 8 - int(f"{number:e}".partition("e")[2]))
    return float(f"{number:.{digits}g}")


def _is_horizontal(container):
    way = getattr(container, "orientation", None)
    if way:
        return way == "horizontal"
    heights = [bar.get_height() for bar in container]
    return len(heights) > 1 and all(one == heights[0] for one in heights)


def _bar(ax, chart):
    chart["type"] = "bar"
    swap = False
    for container in ax.containers:
        group = str(container.get_label())
        if group.startswith("_container"):
            group = f"Group {group[10:]}"
        if _is_horizontal(container):
            swap, axis = True, ax.yaxis
            values = [bar.get_width() for bar in container]
        else:
            axis = ax.xaxis
            values = [bar.get_height() for bar in container]
        chart["elements"] += [
            {"label": label, "group": group, "value": value}
            for label, value in zip(_texts(axis.get_ticklabels()), values)]
    _labels(ax, chart, swap)


class _Box:
    """One box; across is where it stands, along is what it measures."""

    def __init__(self, label, across, along):
        self.label, self.outliers = label, []
        self.left, self.right = min(across), max(across)
        self.low, self.high = min(along), max(along)
        self.median = self.least = self.most = None

    def take(self, across, along, apart):
        """A line that stands in this box's place. Return: is it so?

        apart: its points are not joined.
        """
        if not self.left <= min(across) <= max(across) <= self.right:
            return False
        low, high = min(along), max(along)
        if apart or len(along) != 2:
            self.outliers += along
        elif low == high and self.low <= low <= self.high:
            # A whisker may have no length.
            if across[0] != across[1]:
                self.median = low
            elif low == self.low and self.least is None:
                self.least = low
            else:
                self.most = high
        elif high == self.low:
            self.least = low
        elif low == self.high:
            self.most = high
        return True

    def told(self):
        least = self.low if self.least is None else self.least
        most = self.high if self.most is None else self.most
        return {"label": self.label, "min": least, "first_quartile": self.low,
                "median": self.median, "third_quartile": self.high,
                "max": most, "outliers": self.outliers}


def _rounded_all(values):
    return [_rounded(value) for value in values]


def _box_and_whisker(ax, chart):
    chart["type"] = "box_and_whisker"
    shapes = []
    for patch in ax.patches:
        vertices = patch.get_path().vertices
        shapes.append((_rounded_all(vertices[:, 0]),
                       _rounded_all(vertices[:, 1])))
    heights = {max(y) - min(y) for _, y in shapes}
    widths = {max(x) - min(x) for x, _ in shapes}
    lies = len(heights) == 1 and len(widths) > 1
    _labels(ax, chart, lies)
    axis = ax.yaxis if lies else ax.xaxis
    boxes = [_Box(label, *(shape[::-1] if lies else shape))
             for label, shape in zip(_texts(axis.get_ticklabels()), shapes)]
    for line in ax.lines:
        data = _rounded_all(line.get_xdata()), _rounded_all(line.get_ydata())
        across, along = data[::-1] if lies else data
        apart = line.get_linestyle() in ("None", "none", " ", "")
        if across:
            any(box.take(across, along, apart) for box in boxes)
    chart["elements"] = [box.told() for box in boxes]
