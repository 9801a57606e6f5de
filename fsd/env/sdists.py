# SPDX-License-Identifier: Apache-2.0
"""Sources that become wheels, with --sdist: where the index has no wheel.

pip's finder says in its jail which file that is, and fetches it; it is not opened
here, for to ask it what it needs is to run its code. The wheel is made by a job in
the environment "builder", without a network. It then counts like any other.
"""
import json
import os
import re

import foreign
import jobs
from debian import keep
from problem import Problem, sha256_of

BUILDER = "builder"
EPOCH = 1735689600  # as the layer's
MEMORY = 4096  # of the template that most jobs have
INDEX = "sdists.index"
WHEEL = re.compile(r"[A-Za-z0-9_.]+-[A-Za-z0-9_.!+]+(-[A-Za-z0-9_.]+){3,4}\.whl\Z")
MISSING = re.compile(r"No matching distribution found for ([^;(]+)")
# It is given the requirement, the place, and pip's words.
FIND = """
import json, os, runpy, sys
from pip._internal.commands import create_command
from pip._internal.models.target_python import TargetPython
from pip._vendor.packaging.requirements import Requirement
wanted, place = Requirement(sys.argv[1]), sys.argv[2]
command = create_command("download")
with command.main_context():
    options, _ = command.parse_args([*sys.argv[3:], sys.argv[1]])
    session = command.get_default_session(options)
    finder = command._build_package_finder(
        options, session, TargetPython(py_version_info=(3, 13, 5)))
    best = finder.find_best_candidate(wanted.name, wanted.specifier).best_candidate
    if best is None:
        sys.exit(0)
    link = best.link
    with session.get(link.url_without_fragment, stream=True,
                     headers={"Accept-Encoding": "identity"}) as answer:
        answer.raise_for_status()
        with open(os.path.join(place, "sdist"), "wb") as f:
            for part in answer.iter_content(1 << 16):
                f.write(part)
    json.dump({"name": best.name, "version": str(best.version),
               "file": link.filename,
               "sha256": link.hash if link.hash_name == "sha256" else ""},
              sys.stdout)
"""


def is_asked(build):
    return build.recipe.get("sdist")


def house(build):
    """The directory of the wheels that were made in this build."""
    path = os.path.join(build.work, "made")
    os.makedirs(path, exist_ok=True)
    return path


def read_index(build):
    """{sha256 of sources: (sha256 of the wheel, its name)}"""
    try:
        with open(os.path.join(build.sources, INDEX), encoding="utf-8") as f:
            lines = [line.split() for line in f]
    except OSError:
        return {}
    return {words[0]: tuple(words[1:]) for words in lines if len(words) == 3}


def fetch(build, wanted, ask):
    """The entry of the sources of a requirement, whose file is in sources/ then.
    None: there are none. ask runs a program of pip's, as FIND is."""
    place = os.path.join(build.work, "pip")
    said = ask(["--no-deps", "--no-binary=:all:"], FIND, [wanted, place])
    if not said:
        return None
    try:
        entry = foreign.expect(foreign.loads(said), dict, "it")
        for key in ("name", "version", "file", "sha256"):
            foreign.expect(entry.get(key), str, "\"%s\"" % key)
    except ValueError as e:
        raise Problem("what pip says of the sources of %s: %s" %
                      (wanted, e)) from None
    path = os.path.join(place, "sdist")
    entry["sha256"] = entry["sha256"] or sha256_of(path)
    keep(path, entry, build.sources)
    os.unlink(path)
    return entry


def builder(build):
    path = build.find(BUILDER)
    if not path:
        raise Problem("--sdist makes wheels in the environment \"%s\", which is not "
                      "here; run: fsd env build --stock %s" % (BUILDER, BUILDER))
    return os.path.dirname(os.path.dirname(path))


def make(build, entry):
    """Has the wheel made. Return: (its sha256, its name)."""
    place = os.path.join(build.work, "sdist")
    plan = place + ".json"
    with open(plan, "w", encoding="utf-8") as f:
        json.dump({"file": entry["sha256"], "name": entry["file"],
                   "epoch": EPOCH}, f)
    out = jobs.run(place, os.path.join(jobs.PROGRAMS, "sdist.py"),
                   {entry["sha256"]: os.path.join(build.sources, entry["sha256"]),
                    "plan.json": plan},
                   min(MEMORY, jobs.half_of_host()), 1, lambda line: None,
                   BUILDER, builder(build), False)
    found = sorted(os.listdir(out + "/wheels")) if \
        os.path.isdir(out + "/wheels") else []
    if len(found) != 1 or not WHEEL.match(found[0]):
        raise Problem("%s: no wheel came of it" % entry["file"])
    path = os.path.join(out, "wheels", found[0])
    total = sha256_of(path)
    keep(path, {**entry, "sha256": total}, build.sources)
    with open(os.path.join(build.sources, INDEX), "a", encoding="utf-8") as f:
        f.write("%s %s %s\n" % (entry["sha256"], total, found[0]))
    return total, found[0]


def stand_in(build, said, made, ask):
    """Makes a wheel of what pip says it did not find, unless it was made before or
    cannot be. made: {name of a wheel: entry of its sources}. Return: is it there?"""
    found = MISSING.search(said)
    entry = found and fetch(build, found.group(1).strip(), ask)
    if not entry:
        return False
    known = read_index(build).get(entry["sha256"])
    path = known and os.path.join(build.sources, known[0])
    if not path or not os.path.exists(path):
        known = make(build, entry)
        build.say("resolve", "made a wheel of %s" % entry["file"])
    target = os.path.join(house(build), known[1])
    if os.path.exists(target):
        return False  # pip has seen it, and wants another
    os.link(os.path.join(build.sources, known[0]), target)
    made[known[1]] = entry
    return True
