#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `fsd env build` reads and resolves on the host, without a machine.

build_test.py [CLASS...] — unittest's words.
"""
import json
import os
import sys
import tempfile
import types
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../../fsd/env", HERE,
                HERE + "/../../guest/environment"]
sys.dont_write_bytecode = True

import debian                                             # noqa: E402
import install                                            # noqa: E402
import make_packages as make                              # noqa: E402
import npm                                                # noqa: E402
import recipe                                             # noqa: E402
import serve                                              # noqa: E402
import wheels                                             # noqa: E402
from problem import Problem, plain                        # noqa: E402


class Case(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.dir = made.name

    def says(self, sentence, function, *args):
        with self.assertRaises(Problem) as caught:
            function(*args)
        self.assertEqual(str(caught.exception), sentence)

    def says_part(self, part, function, *args):
        with self.assertRaises(Problem) as caught:
            function(*args)
        self.assertIn(part, str(caught.exception))


class Specs(Case):
    def test_names_of_environments(self):
        for good in ("data", "a", "p-1c9e30ab", "x" * 64):
            self.assertEqual(recipe.environment_name(good), good)
        for bad in ("", "Data", "1a", "a/b", "..", "x" * 65, "a\n"):
            self.says_part("it must be a letter", recipe.environment_name, bad)
        self.says_part("which is taken", recipe.environment_name, "base")
        self.says_part("which is taken", recipe.environment_name, "python")

    def test_debian_packages(self):
        for good in ("python3-numpy", "libstdc++6", "x0=1:2.0~rc1+b1-3"):
            self.assertEqual(recipe.debian(good), good)
        for bad in ("-o", "a/b", "Numpy", "x0=", "x0==1", "http://a", "a b"):
            self.says_part("it must be PKG or PKG=VER", recipe.debian, bad)

    def test_pypi_packages(self):
        self.assertEqual(recipe.pypi("Foo_Bar==1.0", False), "foo-bar==1.0")
        self.assertEqual(recipe.pypi("a[b, c]==1", False), "a[b,c]==1")
        self.assertEqual(recipe.pypi("pandas", True), "pandas")
        self.says("--pypi is \"pandas\" and has no exact version; write "
                  "NAME==VER, or let --plan choose one", recipe.pypi, "pandas",
                  False)
        for bad in ("-r x", "git+https://a/b", "../x==1", "a @ file:///b",
                    "a>=1", "a==1 ; x", "--index-url=x==1"):
            self.says_part("it must be NAME==VER", recipe.pypi, bad, True)

    def test_npm_packages(self):
        for good in ("lodash@4.17.21", "@a/b@1.0.0-rc.1"):
            self.assertEqual(recipe.npm(good), good)
        for bad in ("lodash", "lodash@^4", "lodash@latest", "../x@1.0.0",
                    "a@file:x", "@a@1", "-g@1.0.0", "a@1/../../b"):
            self.says_part("it must be NAME@VER", recipe.npm, bad)

    def test_they_are_what_a_config_may_have(self):
        """The table of layout/packages.c. Without a version, a package of
        Debian is one as well."""
        readers = {"pypi": lambda text: recipe.pypi(text, False),
                   "npm": recipe.npm, "debian": recipe.debian}
        with open(HERE + "/../unit/package_specs.txt", encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f
                    if not line.startswith("#")]
        self.assertGreaterEqual(len(rows), 60)
        for source, text, wanted in rows:
            with self.subTest(source=source, text=text):
                try:
                    found = readers[source](text)
                except Problem:
                    found = "!"
                self.assertEqual(found, wanted)

    def test_what_others_wrote_is_one_plain_line(self):
        self.assertEqual(plain("é \x1b[1m\n\x85\udcff"),
                         "é \\x1b[1m\\n\\x85\\udcff")

    def test_warm_lists_and_variables(self):
        self.assertEqual(recipe.warm_list("numpy, matplotlib.pyplot,npm:@a/b"),
                         ["numpy", "matplotlib.pyplot", "npm:@a/b"])
        for bad in ("a;b", "a..b", "npm:../x", "npm:", "os.system('x')"):
            self.says_part("it must be a module's name", recipe.warm_list, bad)
        self.assertEqual(recipe.variable("A_1=x=y"), ("A_1", "x=y"))
        for bad in ("A", "=x", "1A=x", "A=x\ny"):
            self.says_part("it must be NAME=VALUE", recipe.variable, bad)


class Requirements(Case):
    def test_lines_comments_markers_and_continuations(self):
        total = "a" * 64
        text = ("# all of it\nPandas==2.2.3  # why\n\n"
                "numpy==2.2.4; python_version >= '3.9'\n")
        self.assertEqual(recipe.requirements(text, "r.txt"), [
            "pandas==2.2.3", "numpy==2.2.4; python_version >= '3.9'"])
        text = "six==1.17.0 \\\n    --hash=sha256:%s\n" % total
        self.assertEqual(recipe.requirements(text, "r.txt"), [
            "six==1.17.0 --hash=sha256:" + total])

    def test_the_sentence_names_file_line_and_remedy(self):
        self.says("requirements.txt:3: \"pandas>=2\" has no exact version; write "
                  "pandas==2.2.3 or let --pypi choose once with --plan",
                  recipe.requirements, "# a\nsix==1.0\npandas>=2\n",
                  "requirements.txt")

    def test_what_would_reach_elsewhere_is_refused(self):
        for bad in ("-r other.txt", "--index-url https://x", "-e .",
                    "git+https://a/b.git", "./x.whl", "https://a/x.whl",
                    "x @ file:///x", "/x", "--find-links /x"):
            self.says_part("is not allowed", recipe.requirements, bad, "r")

    def test_hashes_are_for_all_or_none(self):
        self.says_part("b==1 has no --hash", recipe.requirements,
                       "a==1 --hash=sha256:%s\nb==1\n" % ("0" * 64), "r")
        self.says_part("it must be --hash=sha256: and 64 digits",
                       recipe.requirements, "a==1 --hash=md5:00\n", "r")


class Wheels(Case):
    def test_a_wheelhouse_without_a_fitting_wheel_names_the_others(self):
        for tags in ("cp312-cp312-manylinux_2_17_x86_64",
                     "cp313-cp313-macosx_11_0_arm64"):
            open("%s/pandas-2.2.3-%s.whl" % (self.dir, tags), "w").close()
        said = wheels.explained("pip says: ERROR: No matching distribution found "
                                "for pandas==2.2.3", self.dir)
        self.assertEqual(
            str(said), "pandas 2.2.3: no wheel for python 3.13 on linux x86-64 in "
            "%s; 2 others are there: cp312-cp312-manylinux_2_17_x86_64, "
            "cp313-cp313-macosx_11_0_arm64" % self.dir)

    def test_a_licence_is_a_name_if_there_is_one(self):
        mit = ["License :: OSI Approved :: MIT License", "Topic :: Other"]
        for wanted, has in (
                ("MIT", {"license_expression": "MIT", "classifier": mit}),
                ("BSD", {"license": "BSD\n", "classifier": mit}),
                ("MIT License", {"license": "Copyright\n\nmore",
                                 "classifier": mit}),
                ("MIT License", {"classifier": mit}),
                ("Copyright", {"license": "Copyright\nmore"}), ("", {})):
            self.assertEqual(wheels.licence_of(has), wanted)

    def test_a_hash_that_is_not_asked_for_is_refused(self):
        found = [{"name": "six", "file": "six-1-py3-none-any.whl",
                  "sha256": "b" * 64}]
        wheels.check_hashes(["six==1 --hash=sha256:" + "b" * 64], found)
        self.says("six-1-py3-none-any.whl: its sha256 is not what the "
                  "requirements say", wheels.check_hashes,
                  ["six==1 --hash=sha256:" + "a" * 64], found)

    def test_a_parent_gives_its_own_version_only(self):
        has = [{"source": "pypi", "name": "six", "version": "1"}]
        same = {"source": "pypi", "name": "six", "version": "1"}
        self.assertTrue(wheels.is_inherited(same, has))
        self.assertFalse(wheels.is_inherited(dict(same, name="x"), has))
        self.says_part("its parent has 1", wheels.is_inherited,
                       dict(same, version="2"), has)


class Npm(Case):
    def test_a_lock_gives_what_the_guest_can_use(self):
        def taken(at, **has):
            return [e["name"] for e in npm.entries(at, has)]
        self.assertEqual(taken("node_modules/a", version="1.0.0"), ["a"])
        self.assertEqual(taken("node_modules/a/node_modules/@b/c",
                               version="1.0.0"), ["@b/c"])
        self.assertEqual(taken("node_modules/@types/x", version="1.0.0"), [])
        self.assertEqual(taken("node_modules/a", version="1.0.0", dev=True), [])
        self.assertEqual(taken("node_modules/a", version="1.0.0", optional=True,
                               os=["darwin"]), [])

    def test_a_lock_leads_nowhere_else(self):
        def taken(at, has):
            return list(npm.entries(at, has))
        for at, has in (
                ("../x", {"version": "1.0.0"}),
                ("node_modules/../../x", {"version": "1.0.0", "name": "x"}),
                ("packages/x", {"version": "1.0.0", "name": "x"}),
                ("node_modules/x", {"link": True, "resolved": "../y"}),
                ("node_modules/x", {"version": "git+ssh://a/b"}),
                ("node_modules/x", {"version": "1.0.0",
                                    "resolved": "git+ssh://a/b"})):
            with self.assertRaises(Problem):
                taken(at, has)

    def test_a_tarball_has_the_lock_s_integrity(self):
        path = self.dir + "/lodash-4.17.21.tgz"
        with open(path, "wb") as f:
            f.write(b"x")
        entry = {"name": "lodash", "version": "4.17.21", "size": 0,
                 "file": "lodash-4.17.21.tgz", "sha256": "",
                 "integrity": "sha512-" + "A" * 86 + "=="}
        self.says("lodash-4.17.21.tgz: its sha512 is not what package-lock.json "
                  "says", npm.add_sum, entry, path)


class Offline(Case):
    """A build that may ask nobody, beside a set that was made before."""
    def setUp(self):
        super().setUp()
        self.set = self.dir + "/sets/1"
        os.makedirs(self.set)
        os.makedirs(self.dir + "/names")
        os.symlink("../sets/1", self.dir + "/names/old")
        self.build = types.SimpleNamespace(
            work=self.dir,
            name="new", places=[self.dir], abi="debian-13", sources=self.dir,
            project=None, recipe={"pypi": ["six==1.17.0"], "npm": ["a@1.0.0"]},
            options=types.SimpleNamespace(offline=True, wheelhouse=None,
                                          npm_dir=None),
            say=lambda *words: None)
        self.entries = [
            {"source": "pypi", "name": "six", "version": "1.17.0",
             "file": "six-1.17.0-py2.py3-none-any.whl", "sha256": "b" * 64},
            {"source": "npm", "name": "a", "version": "1.0.0", "sha256": "c" * 64,
             "file": "a-1.0.0.tgz", "integrity": ""}]
        self.put("manifest", "format 1\nabi debian-13\n")
        self.put("recipe.json", json.dumps(self.build.recipe))
        self.put("lock.json", json.dumps({"packages": self.entries}))

    def put(self, name, text):
        with open(os.path.join(self.set, name), "w", encoding="utf-8") as f:
            f.write(text)

    def test_the_same_words_have_the_lock_of_then(self):
        self.assertEqual(wheels.resolve(self.build, []), self.entries[:1])
        self.assertEqual(npm.resolve(self.build, []), self.entries[1:])

    def test_other_words_or_another_image_have_none(self):
        self.build.recipe["pypi"] = ["six==1.16.0"]
        self.says_part("no environment here was made of these wheels",
                       wheels.resolve, self.build, [])
        self.put("manifest", "format 1\nabi debian-14\n")
        self.says_part("no environment here was made of these packages of npm",
                       npm.resolve, self.build, [])

    def test_a_file_that_is_not_there_is_named(self):
        for entry, fetch in zip(self.entries, (wheels.fetch, npm.fetch)):
            self.says("--offline: %s %s is not in %s yet; build once without it" %
                      (entry["name"], entry["version"], self.dir), fetch,
                      self.build, [entry])


class Debian(Case):
    def test_licences_are_what_the_machine_read(self):
        path = self.dir + "/licences.json"
        lock = [{"source": "debian", "name": "a", "licence": ""},
                {"source": "debian", "name": "b", "licence": ""}]
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"a": "MIT\x1b[1m" + "x" * 200, "b": 7}, f)
        debian.add_licences(lock, path)
        self.assertEqual(lock[0]["licence"], ("MIT\\x1b[1m" + "x" * 200)[:100])
        self.assertEqual(lock[1]["licence"], "")

    def archive(self, *packages, base=None):
        for text in packages:
            make.deb(self.dir + "/debs", *text)
        archive = debian.Archive(self.dir + "/cache", base or {"libc6": "2.41"},
                                 self.dir, self.dir + "/debs")
        archive.update()
        return archive

    def names(self, found):
        return [entry["name"] for entry in found[0]]

    def test_dependencies_come_and_the_base_is_there(self):
        archive = self.archive(("alpha", "1.0", {}, "Depends: beta, libc6 (>= 2)"),
                               ("beta", "1.0", {}), ("gamma", "1.0", {}))
        found = archive.resolve(["alpha"])
        self.assertEqual(self.names(found), ["alpha", "beta"])
        self.assertEqual(found[1], {"libc6"})
        self.assertEqual(self.names(archive.resolve(["alpha"], ["b*"])),
                         ["alpha"])
        self.assertEqual(archive.fetch(found[0], self.dir), 2)
        self.assertEqual(archive.fetch(found[0], self.dir), 0)

    def test_what_was_resolved_is_remembered_for_the_same_lists(self):
        archive = self.archive(("alpha", "1.0", {}), ("beta", "1.0", {}))
        first = archive.resolve_again(["alpha"])
        self.assertEqual([entry["name"] for entry in first], ["alpha"])
        with unittest.mock.patch.object(archive, "apt", side_effect=Problem("apt")):
            self.assertEqual(archive.resolve_again(["alpha"]), first)
            self.says_part("apt", archive.resolve_again, ["beta"])
            for name, value in (("base", {"libc6": "2.42"}), ("state", list)):
                with unittest.mock.patch.object(archive, name, value):
                    self.says_part("apt", archive.resolve_again, ["alpha"])
        for damaged in ("{", "[]", "7"):
            with open(archive.cache + "/resolved", "w", encoding="utf-8") as f:
                f.write(damaged)
            self.assertEqual([entry["name"] for entry in
                              archive.resolve_again(["beta"])], ["beta"])

    def test_what_the_base_lacks_is_said(self):
        archive = self.archive(("alpha", "1.0", {}, "Depends: delta"))
        self.says_part("the Debian packages cannot be had together",
                       archive.resolve, ["alpha"])

    def test_a_newer_base_is_asked_for(self):
        archive = self.archive(("alpha", "1.0", {}, "Depends: libc6 (>= 3)"),
                               ("libc6", "3.0", {}))
        self.says("libc6 3.0 is needed, and the image has 2.41; build the image "
                  "anew: fsd image build", archive.resolve, ["alpha"])

    def test_a_file_that_changed_since_is_refused(self):
        archive = self.archive(("alpha", "1.0", {}))
        found, _ = archive.resolve(["alpha"])
        with open(self.dir + "/debs/" + found[0]["file"], "ab") as f:
            f.write(b"x")
        self.says_part("its sha256 is", archive.fetch, found, self.dir)


class Slim(Case):
    def test_of_tests_what_their_library_imports_is_kept(self):
        place = os.path.join(self.dir, install.PYTHON[0])
        for name in ("numpy/_core/tests/_natype.py", "numpy/_core/tests/test_a.py",
                     "numpy/_core/tests/data/a", "numpy/tests/test_b.py",
                     "numpy/core.py"):
            path = os.path.join(place, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8"):
                pass
        with unittest.mock.patch.object(install, "TREE", self.dir):
            install.slim(False, False)
        left = [os.path.relpath(os.path.join(at, name), place)
                for at, _, names in os.walk(place) for name in names]
        self.assertEqual(sorted(left), ["numpy/_core/tests/_natype.py",
                                        "numpy/core.py"])


class Requests(Case):
    def test_a_servers_words_are_those_of_a_build(self):
        words = ["p-1c9e30ab.1000", "--from", "data", "--pypi", "six==1.0",
                 "--most", "4096"]
        self.assertEqual(serve.command(" ".join(words), serve.Sources("")), words)

    def test_others_are_refused(self):
        for text, said in (("p-1c9e30ab --pypi six==1.0", "the request is none"),
                           ("data --pypi six==1.0", "the request is none"),
                           ("p-1c9e30ab.0 --pypi", "the request is none"),
                           ("p-1c9e30ab.0 --sdist yes",
                            "the request has \"--sdist\""),
                           ("p-1c9e30ab.0 --most 1e3", "--most is \"1e3\"")):
            self.says(said, serve.command, text, serve.Sources(""))


class Stock(Case):
    def test_each_recipe_that_comes_with_fsd_is_one(self):
        place = HERE + "/../../fsd/env/stock"
        for name in os.listdir(place):
            with open(os.path.join(place, name), encoding="utf-8") as f:
                found = recipe.stock(f.read(), name)
            self.assertTrue(found.get("debian") or found.get("npm"))

    def test_the_same_recipe_is_the_same_bytes(self):
        self.assertEqual(recipe.as_text({"b": 1, "a": [2]}),
                         recipe.as_text({"a": [2], "b": 1}))


if __name__ == "__main__":
    unittest.main()
