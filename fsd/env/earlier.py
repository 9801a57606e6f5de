# SPDX-License-Identifier: Apache-2.0
"""An earlier lock: what --offline takes where a registry would be asked.

A set that is here was made of words; the same words gave its lock, for the same
image and on the same parent. Its files are in sources/, or are said to be missing.
"""
import os

import foreign


def abi_of(path):
    with open(os.path.join(path, "manifest"), encoding="utf-8") as f:
        return next((line[4:].strip() for line in f if line.startswith("abi ")), "")


def sets(build):
    """Directories of those that have a name, that of this build's name first."""
    for place in build.places:
        names = os.path.join(place, "names")
        try:
            found = sorted(os.listdir(names), key=lambda n: (n != build.name, n))
        except OSError:
            continue
        for name in found:
            yield os.path.realpath(os.path.join(names, name))


def lock(build, source, keys):
    """The entries of that source, if a set was asked for the same by those keys of
    the recipe. None: there is none."""
    for path in sets(build):
        try:
            recipe = foreign.load(os.path.join(path, "recipe.json"))
            if abi_of(path) == build.abi and all(
                    recipe.get(key) == build.recipe.get(key)
                    for key in (*keys, "from")):
                with open(os.path.join(path, "lock.json"),
                          encoding="utf-8") as f:
                    return [entry for entry in foreign.lock_entries(f.read())
                            if entry["source"] == source]
        except (OSError, ValueError, AttributeError):
            continue  # damaged: fsd env verify tells
    return None


def missing(build, entry):
    """The sentence about an entry whose file is not in sources/."""
    return "--offline: %s %s is not in %s yet; build once without it" % (
        entry["name"], entry["version"], build.sources)
