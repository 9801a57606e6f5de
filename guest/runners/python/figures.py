# SPDX-License-Identifier: Apache-2.0
"""pyplot, plotly, PIL and pandas in cells: pictures and tables are results.

cell.py loads this when the program has one of them; `cell` is that module.
"""
import os
import re
import sys
import traceback

IMPORTS_PYPLOT = re.compile(
    rb"^\s*(import\s[^#\n]*\bmatplotlib\.pyplot\b|"
    rb"from\s+matplotlib(\s+import\s[^#\n]*\bpyplot\b|\.pyplot\b))",
    re.MULTILINE)
IMPORTS_PIL = re.compile(rb"^\s*(import|from)\s[^#\n]*\bPIL\b", re.MULTILINE)
IMPORTS_PLOTLY = re.compile(rb"^\s*(import|from)\s[^#\n]*\bplotly\b",
                            re.MULTILINE)
OWN = "show of a cell"  # the __wrapped__ of what is put in a function's place
TABLE = "application/vnd.fsd.data+json"
MIMES = {"png": "image/png", "svg": "image/svg+xml", "jpeg": "image/jpeg",
         "jpg": "image/jpeg", "pdf": "application/pdf"}
CHART = "application/vnd.fsd.chart+json"

_shown = []  # figures that this cell has shown already


def begin(source):
    """Functions that the cell may call show their pictures at once."""
    _shown.clear()
    pyplot = _loaded("matplotlib.pyplot", IMPORTS_PYPLOT.search(source))
    if pyplot:
        _take_show(pyplot)
    plotly = _loaded("plotly.io", IMPORTS_PLOTLY.search(source))
    if plotly:
        _take_plotly(plotly)
    image = _loaded("PIL.Image", IMPORTS_PIL.search(source))
    if image and isinstance(getattr(image, "Image", None), type):
        _take_image(image.Image)


def _loaded(name, wanted):
    if name not in sys.modules and wanted:
        try:
            __import__(name)
        except Exception:
            return None  # the cell will say why
    return sys.modules.get(name)


def _is_taken(function):
    return not function or getattr(function, "__wrapped__", None) == OWN


def _take_show(pyplot):
    plain = getattr(pyplot, "show", None)
    if _is_taken(plain):
        return

    def show(*args, **kwargs):
        """Show all figures, as results of the cell."""
        if cell._now is None or pyplot.get_backend().lower() != "agg":
            return plain(*args, **kwargs)
        _pictures(cell._now)

    show.__wrapped__ = OWN
    pyplot.show = show


def _take_plotly(plotly):
    """A figure's show() calls this one, which would look for a browser."""
    plain = getattr(plotly, "show", None)
    if _is_taken(plain):
        return

    def show(fig, *args, **kwargs):
        """Show a figure, as a result of the cell."""
        if cell._now is None:
            return plain(fig, *args, **kwargs)
        cell.display(fig)

    show.__wrapped__ = OWN
    plotly.show = show


def _take_image(kind):
    plain_show = getattr(kind, "show", None)
    plain_save = getattr(kind, "save", None)
    if _is_taken(plain_show) or not plain_save:
        return

    def show(self, title=None, *args, **kwargs):
        """Show this image, as a result of the cell."""
        if cell._now is None:
            return plain_show(self, title, *args, **kwargs)
        cell.display(self)

    def save(self, fp, *args, **kwargs):
        plain_save(self, fp, *args, **kwargs)
        # matplotlib writes its files by it, and a figure is shown anyway.
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        if cell._now is not None and isinstance(fp, (str, os.PathLike)) and (
                caller.partition(".")[0] not in ("matplotlib", "PIL")):
            cell.display(self)

    show.__wrapped__ = save.__wrapped__ = OWN
    save.__doc__ = plain_save.__doc__
    kind.show, kind.save = show, save


def more(value, found):
    """Return: pairs of a MIME type and what value is in it, beside found."""
    try:
        pandas = sys.modules.get("pandas")
        if isinstance(value, getattr(pandas, "DataFrame", ())):
            table = _table(value, pandas)
            return [(TABLE, table)] if table is not None else []
        if _is_figure(value):
            _shown.append(value)
            return _views(value).items()
    except Exception:
        traceback.print_exc()
    return []


def _is_figure(value):
    figure = sys.modules.get("matplotlib.figure")
    return isinstance(value, getattr(figure, "Figure", ()))


def _setting(name, otherwise):
    """What %config InlineBackend.name = VALUE has set."""
    return cell.get_ipython().config.InlineBackend.get(name, otherwise)


def _formats():
    names = _setting("figure_formats", None) or _setting("figure_format", "png")
    names = [names] if isinstance(names, str) else list(names)
    return [name for name in names if name in MIMES or name in (
        "retina", "png2x")] or ["png"]


def _views(figure):
    """Return: MIME type: data of a figure, without its text."""
    import io

    found = {}
    how = {"bbox_inches": "tight", **_setting("print_figure_kwargs", {})}
    for name in _formats():
        image, scale = io.BytesIO(), {}
        if name in ("retina", "png2x"):
            name, scale = "png", {"dpi": 2 * figure.dpi}
        figure.savefig(image, format=name, **{**how, **scale})
        data = image.getvalue()
        found[MIMES[name]] = data.decode() if name == "svg" else data
    if _is_figure(figure):
        chart = cell.own("chart").chart_of(figure, cell.MANY)
        if chart:
            found[CHART] = chart
    return found


def _pictures(said):
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot:
        return
    try:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if any(figure is one for one in _shown):
                continue
            bundle = {**_views(figure), "text/plain": cell.clean(repr(figure))}
            cell.keep(said, [cell.result(*item) for item in bundle.items()])
        pyplot.close("all")
    except Exception:
        traceback.print_exc()


def end(said):
    """The end of a cell: the open figures."""
    _pictures(said)
    _shown.clear()


# --- tables

def tell_pandas(pandas):
    """It was loaded when no notebook was there, and would leave columns out, as for a
    terminal."""
    try:
        if pandas.get_option("display.max_columns") == 0:
            pandas.set_option("display.max_columns", 20)
    except Exception:
        pass  # it is another one


def _part(value, pandas):
    """A value as JSON has it: times as ISO 8601, what is missing as null."""
    if type(value) is float:
        return value if value - value == 0 else None
    if type(value) in (str, bool) or (
            type(value) is int and -2 ** 63 <= value < 2 ** 63):
        return value
    if value is None or value is pandas.NaT or (
            value is getattr(pandas, "NA", None)):
        return None
    if callable(getattr(value, "isoformat", None)):
        return value.isoformat()
    if type(value) in (list, dict) and cell._is_json(value, [cell.MANY]):
        return value
    if callable(getattr(value, "item", None)) and not hasattr(value, "__len__"):
        plain = value.item()  # one of numpy
        return _part(plain, pandas) if plain is not value else str(value)
    return str(value)


def _table(frame, pandas):
    """Return: {column: values}; None for one of too many values."""
    if frame.size > cell.MANY:
        return None
    return {name: [_part(value, pandas) for value in frame.iloc[:, at].tolist()]
            for at, name in enumerate(_names(frame.columns))}


def _names(columns):
    """Of columns with one name all but the first have a number, as read_csv() does."""
    taken, names = {str(name) for name in columns}, {}
    for name in map(str, columns):
        own, number = name, 0
        while own in names or (number and own in taken):
            number += 1
            own = f"{name}.{number}"
        names[own] = None
    return names
