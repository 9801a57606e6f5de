# SPDX-License-Identifier: Apache-2.0
"""JSON that others wrote: packages, registries, imported sets.

Its text may be no JSON, and its values of any type. Each function here gives a value
of the type that it promises, or raises ValueError.
"""
import json
import re

SUM = re.compile(r"[0-9a-f]{64}\Z")


def loads(text):
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("too many brackets in each other") from None


def load(path):
    with open(path, encoding="utf-8") as f:
        return loads(f.read())


def kind_of(value):
    return {str: "a string", bool: "true or false", int: "a number",
            float: "a number", list: "a list", dict: "an object",
            type(None): "null"}[type(value)]


def expect(value, kind, what):
    """The value itself. bool is no int here."""
    if not isinstance(value, kind) or kind is not bool and isinstance(value, bool):
        raise ValueError("%s is %s; it must be %s" % (
            what, kind_of(value), kind_of(kind())))
    return value


def strings(value, what):
    for text in expect(value, list, what):
        expect(text, str, "an entry of " + what)
    return value


def member(has, key, kind, default):
    """has[key], or the default for what is not there or null."""
    value = has.get(key)
    return default if value is None else expect(value, kind, "\"%s\"" % key)


# --- the lock of a set ---------------------------------------------------------------

# The members of each entry and their forms: a member becomes a path, or a word for a tool.
ENTRY = {"source": re.compile(r"(debian|pypi|npm)\Z"),
         "name": re.compile(r"(@[A-Za-z0-9._~-]+/)?[A-Za-z0-9][A-Za-z0-9.+_~-]*\Z"),
         "version": re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+~:_-]*\Z"),
         "file": re.compile(r"[A-Za-z0-9][^/\0\n]*\Z"), "sha256": SUM}
AT = re.compile(r"node_modules/[^\0\n]+\Z")


def lock_entry(has):
    expect(has, dict, "an entry of the lock")
    for key, form in ENTRY.items():
        if not form.match(expect(has.get(key), str, "\"%s\"" % key)):
            raise ValueError("\"%s\" of the lock is \"%s\"" % (key, has[key]))
    for key in ("size", "unpacked"):
        if member(has, key, int, 0) < 0:
            raise ValueError("\"%s\" of the lock is %d" % (key, has[key]))
    for key in ("licence", "integrity"):
        member(has, key, str, "")
    if has["source"] != "npm":
        return has
    at = member(has, "at", str, "node_modules/" + has["name"])
    if not AT.match(at) or ".." in at.split("/"):
        raise ValueError("\"at\" of the lock is \"%s\"" % at)
    return {**has, "at": at, "integrity": has.get("integrity") or ""}


def lock_entries(text):
    """The packages of a lock.json."""
    lock = expect(loads(text), dict, "the lock")
    return [lock_entry(has)
            for has in expect(lock.get("packages"), list, "\"packages\"")]


# --- the lock of npm -------------------------------------------------------------------

PACKAGE = re.compile(r"(?:@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*\Z")
# A range of versions or a tag. What has "/" or ":", begins with "." or is called like
# an archive is a file, an address or a repository to npm.
RANGE = re.compile(r"(?![.])(?!.*\.(?:tgz|tar|tar\.gz)\Z)[\w.*^~<>=| +-]*\Z",
                   re.I | re.A)
EXACT = re.compile(r"[0-9][A-Za-z0-9.+-]{0,127}\Z")
NEEDS = ("dependencies", "optionalDependencies", "peerDependencies")


def is_range(text):
    return isinstance(text, str) and bool(RANGE.match(text))


def is_need(spec):
    """As is_range(), or another package's name for it: "npm:NAME@RANGE"."""
    if isinstance(spec, str) and spec.startswith("npm:"):
        name, _, spec = spec[4:].rpartition("@")
        return bool(PACKAGE.match(name)) and is_range(spec)
    return is_range(spec)


def npm_place(at, has):
    """One entry of "packages" of a package-lock.json, whose members have their
    types."""
    expect(has, dict, "\"%s\"" % at)
    for key in ("name", "version", "resolved", "integrity"):
        member(has, key, str, "")
    for key in ("os", "cpu", "libc"):
        if isinstance(has.get(key), str):
            has[key] = [has[key]]
        strings(member(has, key, list, []), "\"%s\"" % key)
    return has


def npm_needs(at, has):
    """What it needs, which npm would look for where that is."""
    for key in NEEDS:
        for name, spec in member(has, key, dict, {}).items():
            if not PACKAGE.match(name) or not is_need(spec):
                raise ValueError("\"%s\" needs \"%s\" as \"%s\"; it must be a "
                                 "version from the registry" % (at, name, spec))


def npm_old(needs, depth=0):
    """The tree of a lock of npm 6 and older."""
    if depth > 100:
        raise ValueError("its packages are too deep in each other")
    for name, has in expect(needs, dict, "\"dependencies\"").items():
        expect(has, dict, "\"%s\"" % name)
        if not PACKAGE.match(name) or \
                not EXACT.match(member(has, "version", str, "")):
            raise ValueError("\"%s\" is \"%s\"; it must be a version from the "
                             "registry" % (name, has.get("version")))
        member(has, "integrity", str, "")
        npm_old(member(has, "dependencies", dict, {}), depth + 1)


def npm_lock(lock):
    """A package-lock.json, whose places npm may be given."""
    expect(lock, dict, "the lock")
    packages = member(lock, "packages", dict, {})
    for at, has in packages.items():
        if at and not expect(has, dict, "\"%s\"" % at).get("dev"):
            npm_needs(at, npm_place(at, has))
    if not packages:
        npm_old(member(lock, "dependencies", dict, {}))
    return lock


def old_for_npm(needs):
    kept = ("version", "integrity", "dev", "optional")
    return {name: {**{key: has[key] for key in kept if key in has},
                   "dependencies": old_for_npm(has.get("dependencies") or {})}
            for name, has in needs.items()}


def lock_for_npm(lock, wanted):
    """What npm is given of it: no address. npm asks the registry that it is
    configured for."""
    if not lock.get("packages"):
        return {"name": "environment", "lockfileVersion": 1, "requires": True,
                "dependencies": old_for_npm(lock.get("dependencies") or {})}
    root = {"name": "environment", "version": "1.0.0", "dependencies": wanted}
    return {"name": "environment", "version": "1.0.0", "lockfileVersion": 3,
            "requires": True, "packages": {"": root, **{
                at: {key: value for key, value in has.items()
                     if key != "resolved"}
                for at, has in lock["packages"].items()
                if at and not has.get("dev")}}}
