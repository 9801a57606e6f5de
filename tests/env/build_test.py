#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `fsd env build` reads and resolves on the host, without a machine.

build_test.py [CLASS...] — unittest's words.
"""
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../../fsd/env", HERE,
                HERE + "/../../guest/environment"]
sys.dont_write_bytecode = True

import build                                              # noqa: E402
import checks                                             # noqa: E402
import debian                                             # noqa: E402
import foreign                                            # noqa: E402
import install                                            # noqa: E402
import jobs                                               # noqa: E402
import make_packages as make                              # noqa: E402
import npm                                                # noqa: E402
import recipe                                             # noqa: E402
import serve                                              # noqa: E402
import sources                                            # noqa: E402
import wheels                                             # noqa: E402
from problem import Problem, plain                        # noqa: E402

BOUND = 30 * int(os.environ.get("SLOW", "1"))


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

    def test_a_text_of_another_system_is_taken(self):
        path = os.path.join(self.dir, "r.txt")
        plain = "# \u00fc\nsix==1.16.0\n"
        texts = {name: (mark + plain.replace("\n", ends)).encode(name)
                 for name in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le",
                              "utf-32-be")
                 for mark in ("\ufeff",) for ends in ("\r\n",)}
        texts["none"] = plain.encode()
        texts["old"] = plain.replace("\n", "\r").encode()
        texts["declared"] = ("# -*- coding: latin-1 -*-\n" + plain).encode("latin-1")
        for name, data in texts.items():
            with open(path, "wb") as f:
                f.write(data)
            text = recipe.read(path, "--requirements")
            self.assertEqual((name, recipe.requirements(text, "r.txt")),
                             (name, ["six==1.16.0"]))
            self.assertIn("# \u00fc\n", text)
        for data, why in ((b"\xff\xfea", "it is no text in UTF-16-LE"),
                          (b"\xfc", "it is no text in UTF-8"),
                          (b"#coding: no-such\n", "the coding \"no-such\"")):
            with open(path, "wb") as f:
                f.write(data)
            self.says_part(why, recipe.read, path, "--requirements")

    def test_a_package_json_of_another_system_is_taken(self):
        for name, text in (("package.json", '{"dependencies":\r\n{"a": "1.0.0"}}'),
                           ("package-lock.json", '{"packages": {}}')):
            with open(os.path.join(self.dir, name), "wb") as f:
                f.write(("\ufeff" + text).encode("utf-16-le"))
        found = checks.package_json(os.path.join(self.dir, "package.json"))
        self.assertEqual(found["dependencies"], {"a": "1.0.0"})
        self.assertIn("lock", found)

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

        said = wheels.explained("No matching distribution found for pandas==99",
                                self.dir)
        self.assertEqual(str(said), "there is no pandas 99 in %s; there are 2.2.3" %
                         self.dir)

    def test_a_name_or_version_that_the_index_lacks_is_told_as_such(self):
        for versions, wheels_, sentence in (
                ([], "none", "there is no package re-quests in the index"),
                (["2.0", "1.1", "1.0"], "1.0, 1.1", "there is no re-quests 9 in the "
                 "index; there are 1.1, 1.0"),
                (["9", "1.0"], "1.0", "re-quests 9: no wheel for python 3.13 on "
                 "linux x86-64 in the index; there are wheels of 1.0"),
                (None, "none", "re-quests 9: no wheel for python 3.13 on linux "
                 "x86-64 in the index; nor one of another version; --sdist makes "
                 "one of the sources")):
            said = wheels.explained(
                "ERROR: Could not find a version that satisfies the requirement "
                "Re_quests[x]==9 (from versions: %s)\nERROR: No matching "
                "distribution found for Re_quests[x]==9" % wheels_, None,
                lambda name: versions if name == "re-quests" else 1 / 0)
            self.assertEqual(str(said), sentence)

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
    def test_a_name_or_version_that_the_registry_lacks_is_told_as_such(self):
        log = "\nnpm error A complete log of this run can be found in: /tmp/npm/_logs/x"
        newest = [str(i) for i in range(9)]
        for words, sentence in (
                ("code ETARGET\nnpm error notarget No matching version found for "
                 "@a/b@^99.0.0.\nnpm error notarget In most cases", "there is no @a/b "
                 "^99.0.0 in npm's registry; there are 0, 1, 2, 3, 4, 5, ..."),
                ("404  The requested resource '@a/b@1' could not be found or you do",
                 "there is no package @a/b in npm's registry"),
                ("404  'x@*' is not in this registry.",
                 "there is no package x in npm's registry"),
                ("code ECONNREFUSED", "npm says: npm error code ECONNREFUSED")):
            problem = Problem("npm says: " + log)
            problem.said = "npm error " + words + log
            self.assertEqual(str(npm.explained(problem, lambda name: newest)),
                             sentence)

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
             "file": "a-1.0.0.tgz", "integrity": "",
             "at": "node_modules/a"}]
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


    def test_a_lock_that_leads_elsewhere_is_none(self):
        for key, value in (("sha256", "../../etc/shadow"), ("file", "../x"),
                           ("version", "1\n"), ("name", 5), ("size", "x"),
                           ("source", ["pypi"]), ("sha256", None)):
            self.put("lock.json", json.dumps(
                {"packages": [{**self.entries[0], key: value}]}))
            self.says_part("no environment here was made of these wheels",
                           wheels.resolve, self.build, [])
        for text in ("5", "[]", "{}", '{"packages": {}}', "[" * 100000, "{"):
            self.put("lock.json", text)
            self.says_part("no environment here was made of these wheels",
                           wheels.resolve, self.build, [])


class Recipes(Case):
    """recipe.json of a set, which anybody may have made."""
    def refused(self, **has):
        with self.assertRaises(Problem) as caught:
            checks.of_set(json.dumps(has), "hostile")
        self.assertTrue(str(caught.exception).startswith(
            "the recipe of \"hostile\": "), str(caught.exception))

    def test_what_a_build_has_written_is_read_again(self):
        good = {"format": 1, "from": "data@" + "0" * 64,
                "debian": ["libc6", "python3-numpy=1:2.2.4+ds-1"],
                "exclude": ["python3-*"], "pypi": ["pandas[all]==2.2.3"],
                "requirements": ["six==1.17.0; python_version < \"3.14\" "
                                 "--hash=sha256:" + "a" * 64],
                "npm": ["lodash@4.17.21"],
                "npm_project": {"dependencies": {
                    "@a/b": "^1.2.3 || >=2 <3", "c": "~1.0", "d": "latest"}},
                "warm": ["numpy", "npm:lodash"], "warm_program": "a = 1\n",
                "env": {"A": "b c"}, "env_at_start": ["MPL*", "TZ"],
                "source_only": ["usr/lib/x"], "keep_tests": True,
                "development": True, "sdist": True}
        self.assertEqual(checks.of_set(json.dumps(
            {**good, "arguments": ["--stock", "data"]}), "x"),
            (good, ["--stock", "data"]))

    def test_each_word_is_one_that_the_command_line_takes(self):
        for key, bad in (
                ("pypi", ["--extra-index-url http://127.0.0.1/${PIP_INDEX_URL}/"]),
                ("pypi", ["x==1", "six"]), ("pypi", ["./x.whl"]),
                ("requirements", ["-r /etc/passwd"]),
                ("requirements", ["--index-url=http://127.0.0.1/"]),
                ("requirements", ["x==1; python_version > \"${HOME}\""]),
                ("requirements", ["x==1; a -e ./x"]), ("requirements", ["x==1; --pre"]),
                ("requirements", ["x @ http://127.0.0.1/x.whl"]),
                ("debian", ["./evil.deb"]), ("debian", ["-o", "APT::x=y"]),
                ("debian", ["a\n"]), ("exclude", ["a b"]),
                ("npm", ["x@git+http://127.0.0.1/r.git"]), ("npm", ["--x"]),
                ("warm", ["os; print(1)"]), ("env", {"A": "b\nC=d"}),
                ("env", {"A B": "c"}), ("env_at_start", ["A B"]),
                ("source_only", ["../x"]), ("source_only", ["/x"]),
                ("from", "../x"), ("format", 2), ("unknown", 1)):
            self.refused(**{key: bad})

    def test_a_value_of_another_type_is_told(self):
        for key in checks.KEYS:
            for bad in (5, True, "x", [5], [[]], {"a": 5}, {"a": []}, None, 1.5):
                fits = key in ("keep_tests", "development", "sdist") and bad is True \
                    or key in ("warm_program", "from") and bad == "x"
                if not fits:
                    self.refused(**{key: bad})
        self.refused(arguments=5)
        self.refused(arguments=[5])
        for text in ("5", "[]", "{", "[" * 100000):
            with self.assertRaises(Problem):
                checks.of_set(text, "hostile")

    def test_a_project_leads_to_the_registry_only(self):
        for spec in ("git+http://127.0.0.1/r.git", "github:a/b", "a/b", "file:../x",
                     "http://127.0.0.1/x.tgz", "./x", "..", "~/x", "x.tgz",
                     "x.TAR.gz", "npm:other@1", "git@host:a/b", "C:x", 5, None):
            self.refused(npm_project={"dependencies": {"x": spec}})
        self.refused(npm_project={"dependencies": {"../x": "1.0.0"}})

    def test_a_lock_of_npm_leads_to_the_registry_only(self):
        def lock(**has):
            return {"dependencies": {"x": "1.0.0"}, "lock": {
                "packages": {"": {"devDependencies": {"y": "github:a/b"}},
                             "node_modules/x": {"version": "1.0.0", **has}}}}
        for has in ({"dependencies": {"y": "git+http://127.0.0.1/r.git"}},
                    {"optionalDependencies": {"y": "http://127.0.0.1/y.tgz"}},
                    {"peerDependencies": {"y": "a/b"}}, {"dependencies": []},
                    {"os": 5}, {"integrity": 5}, {"resolved": []}, {"name": {}}):
            self.refused(npm_project=lock(**has))
        self.refused(npm_project={"dependencies": {}, "lock": {"dependencies": {
            "x": {"version": "git+http://127.0.0.1/r.git#0"}}}})
        good = lock(resolved="https://127.0.0.1/x.tgz",
                    dependencies={"y-1": "npm:y@^1.0", "z": "1 || 2"})
        recipe_, _ = checks.of_set(json.dumps({"npm_project": good}), "x")
        given = foreign.lock_for_npm(recipe_["npm_project"]["lock"], {"x": "1.0.0"})
        self.assertNotIn("127.0.0.1", json.dumps(given))
        self.assertNotIn("github", json.dumps(given))


class Said(Case):
    """What packages print in a build."""
    def test_a_line_of_the_warm_job_has_its_members_or_is_none(self):
        build_ = types.SimpleNamespace(heap=0, said=[])
        build_.say = lambda *words, **more: build_.said.append((words, more))
        for line in ('{"import_":1,"seconds":"x"}', "[]", "5", "null", '"import_"',
                     '{"import_":"a"}', '{"import_":"a","seconds":"x"}', "[" * 100000,
                     '{"import_":"a","seconds":1e999,"threads":1,"heap":0}',
                     '{"all":true,"seconds":1,"threads":1,"heap":-5,"modules":1}',
                     '{"all":true,"seconds":1,"threads":1,"heap":"x","modules":1}',
                     '{"all":true,"seconds":NaN,"threads":1,"heap":5,"modules":1}',
                     '{"all":1,"seconds":1,"threads":1,"heap":5,"modules":1}'):
            build.Build.take_warm(build_, line)
        self.assertEqual((build_.said, build_.heap), ([], 0))
        build.Build.take_warm(build_, json.dumps(
            {"import_": "a", "seconds": 1, "threads": 1, "heap": 9, "step": "x",
             "text": "y"}))
        build.Build.take_warm(build_, json.dumps(
            {"all": True, "seconds": 1.5, "threads": 1, "heap": 5 << 20,
             "modules": 7}))
        self.assertEqual([words for words, _ in build_.said],
                         [("warm", "imported a in 1.0 s"),
                          ("warm", "all at once: 1.5 s, 7 modules, 5 MB")])
        self.assertEqual(build_.heap, 5 << 20)

    def test_an_entry_of_pips_report_has_its_members(self):
        good = {"download_info": {"url": "https://x/six-1-py3-none-any.whl",
                                  "archive_info": {"hashes": {"sha256": "a" * 64}}},
                "metadata": {"name": "six", "version": "1"}}
        self.assertEqual(wheels.entry_of(good)["sha256"], "a" * 64)
        for has in (5, [], {}, {**good, "metadata": []},
                    {**good, "metadata": {"name": 5, "version": "1"}},
                    {**good, "metadata": {**good["metadata"], "license": 5}},
                    {**good, "metadata": {**good["metadata"], "classifier": [5]}},
                    {**good, "download_info": {"url": 5}}):
            self.says_part("pip's report: ", wheels.entry_of, has)

    def test_a_place_of_npms_lock_has_its_members(self):
        for has in (5, {"name": 5}, {"version": "1.0.0", "os": 5},
                    {"version": "1.0.0", "integrity": []},
                    {"version": "1.0.0", "resolved": {}},
                    {"version": "1.0.0", "cpu": [5]}):
            self.says_part("package-lock.json: ", list,
                           npm.entries("node_modules/x", has))

    def test_a_control_file_says_no_path_and_no_second_package(self):
        good = "Package: ab\nVersion: 1\nArchitecture: amd64\n"
        (path, fields), = debian.control_of(["a.deb"], good +
                                            "File: /etc/shadow\n\0")
        self.assertEqual((path, fields["Package"]), ("a.deb", "ab"))
        for text in (good + "\n" + good + "\0", "Package: ab\n\0", "\0",
                     good.replace("1", "1/../x") + "\0"):
            self.says_part("a.deb: its control file must have", list,
                           debian.control_of(["a.deb"], text))
        self.says_part("dpkg-deb says something else", list,
                       debian.control_of(["a.deb"], good + "\0\0"))
        self.assertEqual(debian.number("x"), 0)

    def test_a_sum_that_is_a_path_is_refused(self):
        self.says_part("its sha256 is said to be \"../x\"", debian.keep,
                       "/dev/null", {"name": "a", "version": "1",
                                     "sha256": "../x"}, self.dir)


class Children(Case):
    """What a build starts does not outlive it. A wait that never ends is an error."""
    def setUp(self):
        def late(number, frame):
            raise TimeoutError("nothing has come for %d s" % BOUND)

        super().setUp()
        before = signal.signal(signal.SIGALRM, late)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.alarm, 0)
        signal.alarm(BOUND)

    def script(self, text):
        path = self.dir + "/script"
        with open(path, "w") as f:
            f.write("#!/bin/bash\n" + text)
        os.chmod(path, 0o755)
        return path

    def pid_of(self, name):
        with open(self.dir + "/" + name) as f:
            return os.pidfd_open(int(f.read()))

    def ended(self, pidfd):
        found = select.select([pidfd], [], [], BOUND)[0]
        os.close(pidfd)
        return bool(found)

    def serve(self, text, send):
        """A server's build by that script, whose steps are sent so. Return: what
        ended it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        server = serve.Server.__new__(serve.Server)
        server.sock, server.more = theirs, []
        server.say = lambda text: send(ours, text)
        with unittest.mock.patch.object(serve, "PROGRAM", self.script(text)):
            try:
                server.build(["p-00000000.0"])
            except (EOFError, ConnectionError, Problem) as e:
                return type(e)

    STEP = "echo '{\"step\": \"x\", \"text\": \"y\"}'\n"

    def test_a_build_ends_when_its_server_does_while_a_step_is_told(self):
        def send(ours, text):
            with open(self.dir + "/pid") as f:
                self.pidfds = [os.pidfd_open(int(line)) for line in f]
            raise BrokenPipeError

        found = self.serve("sleep 600 &\nprintf '%%s\\n' $$ $! >%s/pid\n%swait\n" %
                           (self.dir, self.STEP), send)
        self.assertEqual(found, BrokenPipeError)
        for pidfd in self.pidfds:
            self.assertTrue(self.ended(pidfd))

    def test_a_build_ends_when_its_server_does_though_it_says_nothing_any_more(self):
        def send(ours, text):
            with open(self.dir + "/pid") as f:
                self.pidfds = [os.pidfd_open(int(line)) for line in f]
            ours.shutdown(socket.SHUT_RDWR)

        found = self.serve("sleep 600 >/dev/null 2>&1 &\n"
                           "printf '%%s\\n' $$ $! >%s/pid\n%s"
                           "exec >&- 2>&-\nwait\n" % (self.dir, self.STEP), send)
        self.assertEqual(found, EOFError)
        for pidfd in self.pidfds:
            self.assertTrue(self.ended(pidfd))

    def test_what_a_build_has_said_is_told_when_it_has_ended(self):
        said = []
        self.assertIsNone(self.serve("sleep 600 & echo $! >%s/pid\n%s" %
                                     (self.dir, self.STEP),
                                     lambda _, text: said.append(text)))
        self.assertEqual(said, ["step y"])
        with open(self.dir + "/pid") as f:
            os.kill(int(f.read()), 9)

    def test_a_job_ends_when_its_line_cannot_be_told(self):
        def on_line(line):
            self.pidfd = os.pidfd_open(int(line))
            raise BrokenPipeError

        with unittest.mock.patch.object(jobs, "FSD",
                                        self.script("echo $$\nsleep 600\n")), \
                self.assertRaises(BrokenPipeError):
            jobs.run(self.dir + "/job", "/dev/null", {}, 1, 1, on_line)
        self.assertTrue(self.ended(self.pidfd))

    def test_a_job_that_says_much_on_standard_error_is_heard_to_its_end(self):
        with unittest.mock.patch.object(jobs, "FSD", self.script(
                "head -c 300000 /dev/zero | tr '\\0' x >&2\necho last >&2\n"
                "echo line\nexit 3\n")):
            lines = []
            self.says_part("xxxlast", jobs.run, self.dir + "/job", "/dev/null", {},
                           1, 1, lines.append)
        self.assertEqual(lines, ["line"])

    def test_what_a_killed_build_has_started_ends(self):
        parent = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.path[:0] = [%r]\n"
             "from problem import child\n"
             "with child(['sh', '-c', 'echo $$; exec sleep 600']) as c:\n"
             "    print(c.stdout.readline().decode(), end='', flush=True)\n"
             "    c.wait()\n" % (HERE + "/../../fsd/env")],
            stdout=subprocess.PIPE, text=True)
        with parent:
            pidfd = os.pidfd_open(int(parent.stdout.readline()))
            parent.kill()
        self.assertTrue(self.ended(pidfd))

    def test_sigterm_ends_what_a_build_has_started_and_removes_its_work(self):
        program = self.script("echo $$ >%s/pid; echo line; sleep 600\n" % self.dir)
        text = ("import os, sys; sys.path[:0] = [%r]\n"
                "import build, jobs, sources\n"
                "def run(self):\n"
                "    self.work = sources.new_work(%r)\n"
                "    jobs.FSD = %r\n"
                "    jobs.run(self.work + '/job', '/dev/null', {}, 1, 1,\n"
                "             lambda line: print(line, flush=True))\n"
                "build.Build.run = run\n"
                "os.environ.update(FSD_IMAGE='x', FSD_ENVIRONMENTS_DIR='x',\n"
                "                  FSD_ENVIRONMENTS_DIRS='x')\n"
                "sys.argv[1:] = ['name']\nsys.exit(build.main())\n" %
                (HERE + "/../../fsd/env", self.dir, program))
        with subprocess.Popen([sys.executable, "-c", text], text=True,
                              stdout=subprocess.PIPE) as parent:
            self.assertEqual(parent.stdout.readline(), "line\n")
            pidfd = self.pid_of("pid")
            parent.terminate()
            self.assertEqual(parent.wait(BOUND), 143)
        self.assertTrue(self.ended(pidfd))
        self.assertEqual([name for name in os.listdir(self.dir)
                          if name.startswith(".build-")], [])


class Sources(Case):
    """The directory of the downloads."""
    def put(self, *names):
        for name in names:
            path = os.path.join(self.dir, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write("x")

    def test_the_work_of_a_build_that_died_goes_and_nothing_else(self):
        sources.hold(self.dir).close()
        left = sources.new_work(self.dir)
        os.makedirs(left + "/a/b")
        copy = self.dir + "/.build-backup12"
        shutil.copytree(left, copy)
        self.put(".build-notes/x", ".build-abcdefgh/x", ".build-file")
        sources.remove_left(self.dir)
        self.assertEqual(sorted(os.listdir(self.dir)), [
            ".build-abcdefgh", ".build-backup12", ".build-file", ".build-notes",
            "lock"])

    def test_a_users_own_directory_is_refused(self):
        self.put("main.c")
        self.says("%s has \"main.c\", which no build has put there; give another "
                  "directory to --environments" % self.dir, sources.hold, self.dir)
        self.assertEqual(os.listdir(self.dir), ["main.c"])

    def test_downloads_and_an_older_versions_directory_are_taken(self):
        self.put("a" * 64)
        sources.hold(self.dir).close()
        with open(self.dir + "/lock", "w"):
            pass
        self.put("apt/lists/of")
        for _ in range(2):
            sources.hold(self.dir).close()
            with open(self.dir + "/lock") as f:
                self.assertEqual(f.read(), sources.LOCK_TEXT)

    def test_a_build_that_waits_for_another_says_so_first(self):
        first, told = sources.hold(self.dir), []
        self.addCleanup(first.close)
        signal.signal(signal.SIGALRM, lambda *_: self.fail("it waits in silence"))
        self.addCleanup(signal.alarm, 0)
        signal.alarm(20)
        sources.hold(self.dir, lambda: (told.append(1), first.close())).close()
        sources.hold(self.dir, lambda: told.append(2)).close()
        self.assertEqual(told, [1])

    def built(self, *words):
        """Build(words) that begins, with what it does and says in their order."""
        made, done = build.Build(build.parse(list(words))), []
        for name in ("prepare", "built", "resolve", "fetch", "make"):
            setattr(made, name, lambda name=name: done.append(name))
        made.lock = {"packages": []}
        made.say = lambda step, text, **more: done.append(text)
        made.sources = self.dir + "/sources"
        with unittest.mock.patch.object(sources, "hold", lambda path, on_wait: (
                on_wait(), done.append("hold"))):
            try:
                made.run()
            except Problem as e:
                done.append(str(e))
        return done

    def test_what_is_wrong_in_the_words_is_told_without_a_wait(self):
        with unittest.mock.patch.dict(os.environ, {
                "FSD_IMAGE": "i", "FSD_ENVIRONMENTS_DIRS": self.dir,
                "FSD_ENVIRONMENTS_DIR": self.dir}):
            self.assertEqual(self.built("x", "--pypi", "six"), [
                "--pypi is \"six\" and has no exact version; write NAME==VER, or let "
                "--plan choose one"])
            waits = ["another build runs in %s; this one waits for its end" %
                     self.dir, "hold"]
            self.assertEqual(self.built("x", "--pypi", "six==1"), [
                *waits, "prepare", "built", "resolve", "fetch", "make"])
            self.assertEqual(self.built("x", "--pypi", "six==1", "--from", "y"), [
                *waits, "--from is \"y\"; there is no such environment; fsd env "
                "list shows those that there are"])

    def test_a_plan_has_the_words_of_the_options(self):
        entry = {"source": "debian", "name": "jq", "version": "1.7", "size": 70000}
        self.assertEqual(build.plan_text([
            entry, {**entry, "source": "pypi", "name": "six", "size": 0},
            {**entry, "source": "npm", "name": "@a/b", "size": 3 << 20}]),
            "debian  jq=1.7  69 kB\npypi    six==1.7\nnpm     @a/b@1.7  3 MB\n")

    def test_paths_of_a_build_are_absolute(self):
        names = ("FSD_IMAGE", "FSD_ENVIRONMENTS_DIRS", "FSD_ENVIRONMENTS_DIR")
        with unittest.mock.patch.dict(os.environ, {
                "FSD_IMAGE": "i", "FSD_ENVIRONMENTS_DIRS": "e:/f",
                "FSD_ENVIRONMENTS_DIR": "e"}):
            build.make_absolute(names)
            made = build.Build(build.parse(["x"]))
        self.assertEqual([made.image, made.dir, made.sources, *made.places],
                         [os.path.abspath(path) for path in
                          ("i", "e", "e/sources", "e", "/f")])


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

    def test_a_name_or_version_that_the_archives_lack_is_told_as_such(self):
        archive = self.archive(("alpha", "1.0", {}, "Provides: virtual"))
        self.says("there is no package alhpa in Debian's archives",
                  archive.resolve, ["alhpa"])
        self.says("there is no alpha 9 in Debian's archives; there are 1.0",
                  archive.resolve, ["alpha=9"])
        self.assertEqual([e["name"] for e in archive.resolve(["virtual"])[0]],
                         ["alpha"])

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


class Unpacked(Case):
    def unpacked(self, *entries):
        """{place: text of its index.js}; the downloads must have gone."""
        for entry in entries:
            entry["name"] = os.path.basename(entry["file"])
        with unittest.mock.patch.object(install, "TREE", self.dir + "/tree"), \
                unittest.mock.patch.object(install, "files", install.Files()):
            install.files.expect(entries)
            install.side_by_side(install.unpack_npm, entries, 2)
            install.put_npm_commands(self.dir + "/base")
        self.assertEqual(os.listdir(self.dir + "/made"), [])

    def test_one_package_may_have_two_places(self):
        old = make.tarball(self.dir + "/made", "old", "1.0.0", {
            "package.json": "{}", "index.js": "old\n"})
        places = ["node_modules/%s/node_modules/old" % name for name in "abc"]
        self.unpacked(*({"file": old, "at": at} for at in places))
        for at in places:
            with open("%s/tree/%s/index.js" % (self.dir, at)) as f:
                self.assertEqual(f.read(), "old\n")

    def test_commands_of_npm_are_on_path_and_hide_none(self):
        os.makedirs(self.dir + "/base/usr/bin")
        os.makedirs(self.dir + "/tree/usr/local/bin")
        for path in ("/base/usr/bin/ls", "/tree/usr/local/bin/wheel"):
            with open(self.dir + path, "w"):
                pass
        bin_ = {name: "cli.js" for name in ("ls", "wheel", "own", "../out")}
        made = make.tarball(self.dir + "/made", "tool", "1.0.0", {
            "package.json": "\ufeff" + json.dumps({"bin": bin_}),
            "cli.js": "#!/usr/bin/env node\n"})
        self.unpacked({"file": made, "at": "node_modules/tool"})
        bins = self.dir + "/tree/usr/local/bin/"
        self.assertEqual(sorted(os.listdir(bins)), ["own", "wheel"])
        self.assertEqual(os.path.realpath(bins + "own"), os.path.realpath(
            self.dir + "/tree/node_modules/tool/cli.js"))
        self.assertTrue(os.access(bins + "own", os.X_OK))


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
                found = checks.stock(f.read(), name)
            self.assertTrue(found.get("debian") or found.get("npm"))

    def test_the_same_recipe_is_the_same_bytes(self):
        self.assertEqual(recipe.as_text({"b": 1, "a": [2]}),
                         recipe.as_text({"a": [2], "b": 1}))


if __name__ == "__main__":
    unittest.main()
