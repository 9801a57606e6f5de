# SPDX-License-Identifier: Apache-2.0
"""The words of the command line and of a requirements file, as a recipe.

A recipe is what is asked for. It is a dict of plain values; as JSON it is the
part recipe.json of a set. Keys that would say nothing are left out.
"""
import codecs
import json
import re

from problem import Problem

NAME = re.compile(r"[a-z][a-z0-9._-]{0,63}\Z")
TAKEN = ("base", "python", "javascript", "typescript", "bash")
# Specs of packages are those of layout/packages.c: tests/unit/package_specs.txt is
# tried on both.
DEBIAN = re.compile(r"([a-z0-9][a-z0-9+.-]{1,213})"
                    r"(?:=([0-9][A-Za-z0-9.+~:-]{0,127}))?\Z")
EXCLUDE = re.compile(r"[a-z0-9*][a-z0-9+.*-]*\Z")
PYPI_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,212}[A-Za-z0-9])?"
PYPI_VERSION = r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,127}"
PYPI = re.compile(r"(%s)(\[[A-Za-z0-9._, -]*\])?(?:==(%s))?\Z" %
                  (PYPI_NAME, PYPI_VERSION))
NPM = re.compile(r"(?=.[^@]{0,213}@)"
                 r"((?:@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*)"
                 r"@([0-9][A-Za-z0-9.+-]{0,127})\Z")
MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\Z")
NPM_MODULE = re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?"
                        r"[A-Za-z0-9~_][A-Za-z0-9._~-]*(?:/[A-Za-z0-9._~-]+)*\Z")
ENV = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)\Z", re.S)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\Z")
# pip takes ${NAME} for a variable of this host, and a word with - for an option.
MARKER = re.compile(r"(?!-)(?:(?!\s-)[\w.<>=!~()'\" ,*+-])+\Z", re.A)


def environment_name(text):
    if not NAME.match(text):
        raise Problem("the name is \"%s\"; it must be a letter and then up to 63 "
                      "of a-z, 0-9, \".\", \"_\" and \"-\"" % text)
    if text in TAKEN:
        raise Problem("the name is \"%s\", which is taken; choose another" % text)
    return text


def normal(name):
    """A name of Python's index as all of its spellings are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def debian(text):
    if not DEBIAN.match(text):
        raise Problem("--debian is \"%s\"; it must be PKG or PKG=VER" % text)
    return text


def exclude(text):
    if not EXCLUDE.match(text):
        raise Problem("--exclude is \"%s\"; it must be a package's name, in which "
                      "* stands for any letters" % text)
    return text


def pypi(text, may_be_open):
    found = PYPI.match(text)
    if not found:
        raise Problem("--pypi is \"%s\"; it must be NAME==VER, as pandas==2.2.3"
                      % text)
    if not found.group(3) and not may_be_open:
        raise Problem("--pypi is \"%s\" and has no exact version; write NAME==VER, "
                      "or let --plan choose one" % text)
    return normal(found.group(1)) + (found.group(2) or "").replace(" ", "") + \
        ("==" + found.group(3).lower() if found.group(3) else "")


def npm(text):
    if not NPM.match(text):
        raise Problem("--npm is \"%s\"; it must be NAME@VER, as lodash@4.17.21, or "
                      "a package.json" % text)
    return text


def module(text):
    if text.startswith("npm:"):
        good = NPM_MODULE.match(text[4:])
    else:
        good = MODULE.match(text)
    if not good:
        raise Problem("--warm has \"%s\"; it must be a module's name, as "
                      "matplotlib.pyplot or npm:lodash" % text)
    return text


def warm_list(text):
    return [module(word) for word in re.split(r"[,\s]+", text) if word]


def variable(text):
    found = ENV.match(text)
    if not found or "\0" in text or "\n" in text:
        raise Problem("--env is \"%s\"; it must be NAME=VALUE in one line" % text)
    return found.group(1), found.group(2)


def joined(text):
    """(number of its first line, line) of a requirements file: without comments,
    lines that end in a backslash joined."""
    held, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        line = re.sub(r"(^|\s)#.*", "", line.rstrip("\r"))
        first = first or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        line, held, at, first = (held + line).strip(), "", first, 0
        if line:
            yield at, line
    if held.strip():
        yield first, held.strip()


def requirement(where, line):
    """One line: a name, an exact version, perhaps a marker and hashes."""
    words = line.split()
    hashes = [word for word in words if word.startswith("--hash")]
    rest = " ".join(word for word in words if not word.startswith("--hash"))
    spec, _, marker = rest.partition(";")
    spec = spec.strip().replace(" ", "")
    for text in hashes:
        if not HASH.match(text):
            raise Problem("%s: \"%s\" is no hash; it must be "
                          "--hash=sha256: and 64 digits" % (where, text))
    if spec.startswith("-") or "/" in spec or ":" in spec or "@" in spec:
        raise Problem("%s: \"%s\" is not allowed; each line is a package with its "
                      "version, as pandas==2.2.3" % (where, spec))
    found = PYPI.match(spec)
    if not found or not found.group(3):
        name = re.match(PYPI_NAME, spec)
        if not name:
            raise Problem("%s: \"%s\" is no package with its version, as "
                          "pandas==2.2.3" % (where, spec))
        raise Problem("%s: \"%s\" has no exact version; write %s==2.2.3 or let "
                      "--pypi choose once with --plan" %
                      (where, spec, name.group()))
    text = "%s%s==%s" % (normal(found.group(1)), found.group(2) or "",
                         found.group(3).lower())
    if marker.strip() and not MARKER.match(marker.strip()):
        raise Problem("%s: \"%s\" is no marker; it must be as python_version < "
                      "\"3.14\"" % (where, marker.strip()))
    if marker.strip():
        text += "; " + marker.strip()
    return " ".join([text] + sorted(hashes))


def requirements(text, name):
    lines = [requirement("%s:%d" % (name, number), line)
             for number, line in joined(text)]
    with_hash = sum("--hash=" in line for line in lines)
    if with_hash and with_hash != len(lines):
        bare = next(line for line in lines if "--hash=" not in line)
        raise Problem("%s: %s has no --hash, and others have; give all of them "
                      "one" % (name, bare.split()[0]))
    return lines


# The longer mark first: one of UTF-32 begins with one of UTF-16.
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"),
         (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF16_LE, "utf-16-le"),
         (codecs.BOM_UTF16_BE, "utf-16-be"))
CODING = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def decoded(data):
    """A text that somebody has written, on whatever system: what its mark says, or a
    comment in its first two lines as in Python, or UTF-8; lines end in LF. Raises
    ValueError."""
    for mark, name in MARKS:
        if data.startswith(mark):
            text = data[len(mark):].decode(name)
            break
    else:
        found = [CODING.match(line) for line in data.split(b"\n")[:2]]
        name = next((m.group(1).decode() for m in found if m), "utf-8")
        try:
            text = data.decode(name)
        except LookupError:
            raise ValueError("it names the coding \"%s\", which is not known; save "
                             "it as UTF-8" % name) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read(path, what):
    try:
        with open(path, "rb") as f:
            return decoded(f.read())
    except UnicodeDecodeError as e:
        raise Problem("%s %s: it is no text in %s; save it as UTF-8" %
                      (what, path, e.encoding.upper())) from None
    except ValueError as e:
        raise Problem("%s %s: %s" % (what, path, e)) from None
    except OSError as e:
        raise Problem("%s %s: %s" % (what, path, e.strerror)) from None


def as_text(value):
    """JSON for parts: the same value gives the same bytes."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
