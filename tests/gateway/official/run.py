#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run.py DIR [SUITE [FILE...]] — official suites, against `fsd gateway`.

DIR has the checkouts: code-interpreter, E2B, ragflow (suites.py says which).  The
packages are installed beside them.  A private mount and a gateway in front of it are
started in a network of their own (network.py), for which this needs to be root.  Each
suite runs with a configuration of ours and nothing else changed, and its outcomes are compared with SUITE.txt: a name there that does not pass fails, and so does
one that passes and is not there.  SUITE.data.txt has names that need the environment
data, SUITE.quick.txt those that have a short bound of their own: they are judged when
SLOW is 1.
What a suite runs in the template base runs in an environment with curl, as E2B's has.
FILE runs some of a suite's files; nothing is compared then.

The page build/official/results.md says what passed, and of the rest why it did not.
FSD names the program (build/fsd), FSD_IMAGE the image, FSD_STATE the directory of state,
FSD_ENVIRONMENTS that of environments, FSD_OPTIONS further options of the mount. SLOW multiplies what may take long.
"""
import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, HERE)

import domain  # noqa: E402
import network  # noqa: E402
import suites  # noqa: E402

BASE = "official"  # the environment for suites that ask for "base"
KEY = "e2b_" + "0" * 40
Place = collections.namedtuple("Place", "dir out url env slow files")


class Gateway:
    """A private mount, and a gateway in front of it, until the end of a with block."""

    def __init__(self, out):
        self.fsd = os.environ.get("FSD", TOP + "/build/fsd")
        self.out = out
        self.of_mount = [
            "--image", os.environ.get("FSD_IMAGE", TOP + "/build/image"),
            "--environments", os.environ.get("FSD_ENVIRONMENTS", out + "/environments")]

    def install(self):
        """Makes the environment with curl; it takes what a registry of Debian has."""
        os.makedirs(self.of_mount[-1], exist_ok=True)
        subprocess.run([self.fsd, "env", "build", BASE, "--debian", "curl",
                        *self.of_mount], check=True, stdout=subprocess.DEVNULL)

    @contextlib.contextmanager
    def running(self, policy):
        self.start(policy)
        try:
            yield
        finally:
            self.end()

    def start(self, policy):
        self.mnt = tempfile.mkdtemp(prefix="official.")
        state = os.environ.get("FSD_STATE", self.out + "/state")
        os.makedirs(state, exist_ok=True)
        subprocess.run(
            [self.fsd, "mount", "--daemon", "--state", state, *self.of_mount,
             "--network", policy, *os.environ.get("FSD_OPTIONS", "").split(),
             self.mnt], check=True)
        self.data = os.path.exists(self.mnt + "/.fsd/templates/data")
        self.template = "data" if self.data else BASE
        self.log = open(self.out + "/gateway.log", "w+")
        self.process = subprocess.Popen(
            [self.fsd + "-gateway" if self.fsd.endswith("/fsd") else
             os.path.dirname(self.fsd) + "/fsd-gateway", "--mount", self.mnt,
             "--listen", "127.0.0.1:0", "--max-sandboxes", "1000",
             "--run-timeout", str(10 * int(os.environ.get("SLOW", "1"))),
             "--domain", domain.DOMAIN],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.url = None
        for line in self.process.stderr:
            self.log.write(line)
            found = re.search(r" listening on (\S+)", line)
            self.url = self.url or (found and "http://" + found[1])
            if " ready: " in line:
                break
        self.log.flush()
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr,
                                      stdout=self.log)
        if not self.url:
            raise SystemExit("the gateway did not start: %s/gateway.log" % self.out)
        self.warm_up()

    def ask(self, path, body, **headers):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-API-Key": KEY, **headers})
        with urllib.request.urlopen(request, timeout=600) as reply:
            return reply.read()

    def warm_up(self):
        """The clients' own bounds do not allow for the first machine of a server."""
        for template in {self.template, BASE}:
            made = json.loads(self.ask("/sandboxes", {"templateID": template}))
            for language in "python", "javascript", "bash":
                self.ask("/execute", {"code": "1", "language": language},
                         **{"E2b-Sandbox-Id": made["sandboxID"]})

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.drain.wait(60)
        subprocess.run([self.fsd, "umount", "--now", self.mnt], check=True)
        os.rmdir(self.mnt)


def names(file):
    """The names of a list, without its comments."""
    path = os.path.join(HERE, file)
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as f:
        return {line.rstrip("\n") for line in f if line.strip() and line[0] != "#"}


def first_line(reason):
    """What a failure says, short enough for a cell of the page."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", reason).strip().split("\n")[0]
    return text.replace("|", "\\|")[:160]


def why(suite, name, reason):
    for word, text in suite.never.items():
        if word in name:
            return text
    return first_line(reason)


def compare(suite, found, data, slow):
    """What is not as the lists say, a sentence each."""
    with_data = names(suite.name + ".data.txt")
    quick = names(suite.name + ".quick.txt")
    want = names(suite.name + ".txt")
    want |= (with_data if data else set()) | (quick if slow == 1 else set())
    passed = {n for n, (outcome, _) in found.items() if outcome == "passed"}
    return (["stopped passing: " + n for n in sorted(want - passed)] +
            ["begins to pass, add it to %s.txt: %s" % (suite.name, n)
             for n in sorted(passed - want - with_data - quick)])


def page(rows, out):
    """The results, as a page of Markdown."""
    with open(out, "w", encoding="utf-8") as f:
        f.write("# Official suites\n\n| suite | pass | fail | skipped |\n"
                "|---|---|---|---|\n")
        for suite, found in rows:
            count = collections.Counter(outcome for outcome, _ in found.values())
            f.write("| %s | %d | %d | %d |\n" % (
                suite.name, count["passed"], count["failed"], count["skipped"]))
        for suite, found in rows:
            f.write("\n## %s: what does not pass\n\n| test | reason |\n|---|---|\n"
                    % suite.name)
            for name, (outcome, reason) in sorted(found.items()):
                if outcome == "failed":
                    f.write("| %s | %s |\n" % (name.replace("|", "\\|"),
                                               why(suite, name, reason)))


def there(suite, top):
    return os.path.isdir(os.path.join(top, suite.checkout, suite.under))


def run(suite, gateway, place):
    """Says what the row's line says behind its number and name."""
    if not there(suite, place.dir):
        return None, [], " # SKIP no checkout of it in " + place.dir
    if suite.kind.endswith("-data") and not gateway.data:
        return None, [], " # SKIP there is no environment data"
    found = suites.KINDS[suite.kind].run(suite, place)
    passed = sum(outcome == "passed" for outcome, _ in found.values())
    wrong = [] if place.files else compare(suite, found, gateway.data, place.slow)
    return found, wrong, ": %d of %d pass" % (passed, len(found))


def main(argv):
    if not argv:
        sys.exit(__doc__)
    top, wanted, files = os.path.abspath(argv[0]), argv[1:2], argv[2:]
    out = TOP + "/build/official"
    os.makedirs(out, exist_ok=True)
    table = [s for s in suites.SUITES if not wanted or s.name in wanted]
    if not table:
        sys.exit("no suite is called %s" % wanted[0])
    if os.getuid():
        sys.exit("only root makes the network of the suites")
    env = {k: v for k, v in os.environ.items() if not k.startswith("E2B_")}
    place = Place(top, out, "", env, int(os.environ.get("SLOW", "1")), files)
    for suite in table:
        if there(suite, top):
            suites.KINDS[suite.kind].install(suite, place)
    gateway = Gateway(out)
    gateway.install()
    rows, bad = [], 0
    print("1..%d" % len(table), flush=True)
    with network.entered(out) as policy, gateway.running(policy), \
            domain.over_tls(gateway.url, out) as keys:
        env.update(keys, E2B_API_URL=gateway.url, E2B_SANDBOX_URL=gateway.url,
                   E2B_API_KEY=KEY, E2B_TESTS_TEMPLATE=gateway.template,
                   OFFICIAL_TEMPLATE=BASE, FSD_MOUNT=gateway.mnt)
        place = place._replace(url=gateway.url)
        for number, suite in enumerate(table, 1):
            found, wrong, said = run(suite, gateway, place)
            if found is not None:
                rows.append((suite, found))
            bad += bool(wrong)
            print("%s %d - %s%s" % ("not ok" if wrong else "ok", number, suite.name,
                                    said))
            for line in wrong:
                print("#   " + line)
            sys.stdout.flush()
    page(rows, out + "/results.md")
    print("# %s/results.md" % os.path.relpath(out))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
