# SPDX-License-Identifier: Apache-2.0
"""IPython.display, where there is no IPython: what cells show things with.

`cell` is cell.py, which makes the modules when a program imports them.
"""
import base64
import json
import os
import sys
import types

FORMATS = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
           "gif": "image/gif", "webp": "image/webp", "svg": "image/svg+xml"}
BEGINNINGS = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"),
              (b"RIFF", "webp"))


class DisplayObject:
    """Something to show: data, or the content of a file."""

    mime = None

    def __init__(self, data=None, url=None, filename=None, metadata=None, **more):
        if isinstance(data, os.PathLike) or (
                isinstance(data, str) and filename is None and url is None
                and self.is_file(data)):
            data, filename = None, os.fspath(data)
        self.data, self.url, self.filename = data, url, filename
        self.metadata = metadata or {}
        if url is not None:
            raise ValueError(f"{url} cannot be had: machines have no network; "
                             "give the data, or filename=")
        self.reload()

    def is_file(self, data):
        return False

    def reload(self):
        if self.filename is not None:
            with open(self.filename, encoding="utf-8") as file:
                self.data = file.read()

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self.data} if self.mime else {}


class TextDisplayObject(DisplayObject):
    pass


class HTML(TextDisplayObject):
    mime = "text/html"

    def __html__(self):
        return self.data


class Markdown(TextDisplayObject):
    mime = "text/markdown"


class Latex(TextDisplayObject):
    mime = "text/latex"


class Math(TextDisplayObject):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/latex": "$\\displaystyle %s$" % self.data.strip("$")}


class SVG(DisplayObject):
    mime = "image/svg+xml"

    def is_file(self, data):
        return not data.lstrip().startswith("<")


class Javascript(TextDisplayObject):
    mime = "application/javascript"


class Pretty(TextDisplayObject):
    def __repr__(self):
        return self.data


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        super().__init__(data, url, filename)
        self.language = language

    def __repr__(self):
        return self.data

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/markdown": f"```{self.language or ''}\n{self.data}\n```"}


class JSON(DisplayObject):
    def __init__(self, data=None, url=None, filename=None, expanded=False,
                 metadata=None, root="root", **more):
        super().__init__(data, url, filename, metadata)
        if isinstance(self.data, (str, bytes)):
            self.data = json.loads(self.data)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"application/json": self.data}


class Image(DisplayObject):
    """A picture: its bytes, or the file that has it."""

    def __init__(self, data=None, url=None, filename=None, format=None,
                 embed=None, width=None, height=None, metadata=None, alt=None,
                 **more):
        if isinstance(data, str) and data.startswith(("http://", "https://")):
            data, url = None, data
        self.format, self.width, self.height = format, width, height
        super().__init__(data, url, filename, metadata)
        if self.data is None:
            raise ValueError("Image needs data= or filename=")
        if not self.format:
            self.format = next((name for begin, name in BEGINNINGS if bytes(
                self.data[:4]).startswith(begin)), "png")
        self.format = self.format.lower()

    def is_file(self, data):
        return True

    def reload(self):
        if self.filename is not None:
            with open(self.filename, "rb") as file:
                self.data = file.read()
            ending = self.filename.rpartition(".")[2].lower()
            self.format = self.format or (ending if ending in FORMATS else None)

    def _repr_mimebundle_(self, include=None, exclude=None):
        mime = FORMATS.get(self.format)
        if not mime:
            raise ValueError(f"the format is {self.format}; it must be one of "
                             + ", ".join(FORMATS))
        data = self.data
        return {mime: data.decode() if self.format == "svg" and
                isinstance(data, bytes) else data}


class _Embedded(DisplayObject):
    """A sound or a film, as HTML that has it inside."""

    def __init__(self, data=None, filename=None, url=None, embed=True,
                 mimetype=None, **more):
        self.mimetype = mimetype
        super().__init__(data, url, filename)

    def is_file(self, data):
        return True

    def reload(self):
        if self.filename is not None:
            import mimetypes

            with open(self.filename, "rb") as file:
                self.data = file.read()
            self.mimetype = self.mimetype or mimetypes.guess_type(
                self.filename)[0]

    def _repr_mimebundle_(self, include=None, exclude=None):
        text = base64.b64encode(self.data).decode()
        kind = self.mimetype or self.usual
        return {"text/html": f'<{self.tag} controls src="data:{kind};base64,'
                             f'{text}"></{self.tag}>'}


class Video(_Embedded):
    tag, usual = "video", "video/mp4"


class Audio(_Embedded):
    tag, usual = "audio", "audio/wav"

    def __init__(self, data=None, filename=None, url=None, embed=True, rate=None,
                 **more):
        if rate is not None and not isinstance(data, (bytes, str)):
            data = self.wave(data, rate)
        super().__init__(data, filename, url, **more)

    @staticmethod
    def wave(samples, rate):
        import array
        import io
        import wave

        samples = [float(one) for one in samples]
        most = max(map(abs, samples), default=0) or 1
        out = io.BytesIO()
        with wave.open(out, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(int(rate))
            file.writeframes(array.array("h", [
                int(one / most * 32767) for one in samples]).tobytes())
        return out.getvalue()


class IFrame:
    def __init__(self, src, width, height, extras=None, **params):
        self.src, self.width, self.height = src, width, height

    def _repr_html_(self):
        import html

        return (f'<iframe width="{self.width}" height="{self.height}" '
                f'src="{html.escape(str(self.src))}" frameborder="0"></iframe>')


class FileLink:
    def __init__(self, path, **more):
        self.path = path

    def __repr__(self):
        return os.path.abspath(self.path)


class DisplayHandle:
    """The result of display(x, display_id=True); update() shows once more."""

    def __init__(self, display_id=None):
        self.display_id = display_id

    def display(self, value, **options):
        cell.display(value, **options)

    update = display


def display(*values, display_id=None, **options):
    """Shows values at this place, as the cell's last expression would be."""
    cell.display(*values, **options)
    return DisplayHandle(display_id) if display_id else None


def update_display(value, *, display_id, **options):
    """The old value stays; the new one is shown below it."""
    cell.display(value, **options)


def clear_output(wait=False):
    """Has no effect: what was shown is with who reads it."""


def publish_display_data(data, metadata=None, **unused):
    cell.display(data, raw=True)


def _display_as(kind):
    def show(*values, raw=False, **unused):
        for value in values:
            if raw:
                value = kind(value)
            display(value)
    return show


def set_matplotlib_formats(*formats, **options):
    """Figures are shown so, as with %config InlineBackend.figure_formats."""
    cell.get_ipython().config.InlineBackend.update(
        figure_formats=set(formats), **{"print_figure_kwargs": options} if options
        else {})


def set_matplotlib_close(close=True):
    """Figures are closed at a cell's end."""


OBJECTS = (DisplayObject, TextDisplayObject, HTML, Markdown, Latex, Math, SVG,
           Javascript, Pretty, Code, JSON, Image, Video, Audio, IFrame, FileLink,
           DisplayHandle)
FUNCTIONS = (display, update_display, clear_output, publish_display_data,
             set_matplotlib_formats)
TYPED = {"html": HTML, "markdown": Markdown, "svg": SVG, "latex": Latex,
         "json": JSON, "javascript": Javascript, "png": Image, "jpeg": Image}


def fill(module):
    """Puts into a module of IPython's what this file has of it."""
    if module.__name__ == "IPython":
        # Some ask for the version before they ask for a shell.
        module.version_info, module.__version__ = (8, 30, 0), "8.30.0"
        module.get_ipython = cell.get_ipython
        module.display = sys.modules.get("IPython.display") or _lazily("display")
    elif module.__name__ == "matplotlib_inline.backend_inline":
        module.set_matplotlib_formats = set_matplotlib_formats
        module.set_matplotlib_close = set_matplotlib_close
    elif ".display" in module.__name__:
        for thing in OBJECTS + FUNCTIONS:
            setattr(module, thing.__name__, thing)
        for name, kind in TYPED.items():
            setattr(module, f"display_{name}", _display_as(kind))


def take():
    """The real IPython prints what it is to display, unless a shell runs: ours."""
    try:
        import IPython
        import IPython.display as module
    except Exception:
        return  # the cell will say why
    plain = getattr(module, "display", None)
    if plain is display or not plain or hasattr(plain, "of_cells"):
        return
    asked = getattr(IPython, "get_ipython", None)
    for name in "IPython", "IPython.core.getipython", "IPython.display":
        if asked and getattr(sys.modules.get(name), "get_ipython", None) is asked:
            sys.modules[name].get_ipython = cell.get_ipython

    def show(*values, display_id=None, **options):
        if cell._now is None:
            return plain(*values, display_id=display_id, **options)
        return display(*values, display_id=display_id, **options)

    show.of_cells = True
    for name in "IPython.display", "IPython.core.display_functions", "IPython":
        if getattr(sys.modules.get(name), "display", None) is plain:
            sys.modules[name].display = show


def _lazily(name):
    module = types.ModuleType(f"IPython.{name}")
    fill(module)
    return module


for _thing in OBJECTS:
    _thing.__module__ = "IPython.core.display"
