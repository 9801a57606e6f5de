# SPDX-License-Identifier: Apache-2.0
"""A whole recipe, checked: the one way of a recipe into a build.

The command line, a stock recipe and the recipe of a set that is there, perhaps an
imported one, all come through checked(). Each word of each is read by the same
function of recipe.py.
"""
import os
import re

import recipe as words
from foreign import (PACKAGE, expect, is_range, loads, npm_lock, strings)
from problem import Problem

KEYS = ("format from debian exclude pypi requirements npm npm_project warm "
        "warm_program env env_at_start source_only keep_tests development "
        "sdist").split()
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?\Z")


def start_variable(text):
    if not VARIABLE.match(text):
        raise Problem("\"env_at_start\" has \"%s\"; it must be a variable's name"
                      % text)
    return text


def source_path(text):
    if text.startswith("/") or ".." in text.split("/") or "\0" in text:
        raise Problem("\"source_only\" has \"%s\"; it must be a path below the "
                      "root" % text)
    return text


def project(value):
    """What npm needs of a project: its dependencies, perhaps with a lock."""
    expect(value, dict, "\"npm_project\"")
    wanted = expect(value.get("dependencies"), dict, "\"dependencies\"")
    for name, spec in wanted.items():
        if not PACKAGE.match(name) or not is_range(spec):
            raise Problem("\"%s\" is \"%s\"; it must be a version from the "
                          "registry" % (name, spec))
    found = {"dependencies": wanted}
    if value.get("lock") is not None:
        found["lock"] = npm_lock(value["lock"])
    return found


def package_json(path):
    """The project of a package.json and the lock beside it."""
    try:
        has = expect(loads(words.read(path, "--npm")), dict, "its text")
        found = project({"dependencies": has.get("dependencies") or {}})
    except (ValueError, Problem) as e:
        raise Problem("--npm %s: %s" % (path, e)) from None
    lock = os.path.join(os.path.dirname(path) or ".", "package-lock.json")
    if os.path.exists(lock):
        try:
            found["lock"] = npm_lock(loads(words.read(lock, "--npm")))
        except ValueError as e:
            raise Problem("%s: %s" % (lock, e)) from None
    return found


def check_env(env):
    for name, value in expect(env, dict, "\"env\"").items():
        words.variable("%s=%s" % (name, expect(value, str,
                                               "\"%s\" of \"env\"" % name)))
    return env


def check_from(text):
    name, _, digits = expect(text, str, "\"from\"").partition("@")
    words.environment_name(name)
    if not re.match(r"[0-9a-f]*\Z", digits):
        raise Problem("\"from\" is \"%s\"; it must be NAME or NAME@ID" % text)
    return text


def check_format(value):
    if expect(value, int, "\"format\"") != 1:
        raise Problem("\"format\" is %d; this version of fsd knows 1" % value)
    return value


def lists(may_be_open):
    """How each word of a list is read, and whether their order says something."""
    return {"debian": (words.debian, False), "exclude": (words.exclude, False),
            "pypi": (lambda text: words.pypi(text, may_be_open), False),
            "requirements": (lambda text: words.requirement("a requirement", text),
                             True),
            "npm": (words.npm, False), "warm": (words.module, True),
            "env_at_start": (start_variable, False),
            "source_only": (source_path, True)}


def check_key(key, value, may_be_open):
    listed = lists(may_be_open).get(key)
    if listed:
        read, ordered = listed
        found = [read(text) for text in strings(value, "\"%s\"" % key)]
        return found if ordered else sorted(set(found))
    if key in ("keep_tests", "development", "sdist"):
        return expect(value, bool, "\"%s\"" % key)
    if key == "warm_program":
        return expect(value, str, "\"warm_program\"")
    return {"format": check_format, "from": check_from, "env": check_env,
            "npm_project": project}[key](value)


def checked(recipe, what, may_be_open=False):
    """The recipe with each word as its reader gives it, keys that say nothing left
    out. what: whose recipe it is, for a Problem; "": it is the command line's."""
    try:
        unknown = sorted(set(expect(recipe, dict, "the recipe")) - set(KEYS))
        if unknown:
            raise Problem("it has \"%s\"; it may have %s" % (unknown[0],
                                                             ", ".join(KEYS)))
        found = {key: check_key(key, recipe[key], may_be_open)
                 for key in KEYS if key in recipe}
    except (ValueError, Problem) as e:
        raise Problem("%s: %s" % (what, e) if what else str(e)) from None
    return {key: value for key, value in found.items() if value}


def stock(text, name):
    """A recipe that comes with fsd. Its program may be a list of lines."""
    recipe = loads(text)
    if isinstance(recipe.get("warm_program"), list):
        recipe["warm_program"] = "\n".join(recipe["warm_program"]) + "\n"
    return checked(recipe, "the recipe %s" % name)


def of_set(text, name):
    """The recipe.json of a set, which somebody else may have made. Return: (the
    recipe, the words of the command that made it)."""
    what = "the recipe of \"%s\"" % name
    try:
        recipe = expect(loads(text), dict, "its text")
        arguments = strings(recipe.pop("arguments", []), "\"arguments\"")
    except ValueError as e:
        raise Problem("%s: %s" % (what, e)) from None
    return checked(recipe, what), arguments
