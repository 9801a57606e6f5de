# SPDX-License-Identifier: Apache-2.0
"""Builds environments for a server: `fsd env build --serve`, fsd-builder.

A server with --build-packages starts it, for it may itself start nothing and reach
no network. Descriptor 3 is a socket of packets. One that comes has the words of one
build, quoted as for a shell; each is checked again here, since the server reads what
guests and users send. "step TEXT" goes back for each step, then "ok" or "failed
TEXT". When the socket ends, so does the build that is under way.
"""
import argparse
import json
import os
import re
import selectors
import shlex
import socket

import jobs
import recipe
from problem import Problem, child, last_words, plain

REQUEST_MAX = 1 << 17
TEXT_MAX = 1000
PROGRAM = os.environ.get("FSD_BUILDER") or jobs.FSD  # tests have one of theirs
NAME = re.compile(r"p-[0-9a-f]{8}\.[0-9]+\Z")
FROM = re.compile(r"[a-z][a-z0-9._-]{0,63}(@[0-9a-f]{12,64})?\Z")


def parent(text):
    if not FROM.match(text):
        raise Problem("--from is \"%s\"" % text)
    return text


def most(text):
    if not re.match(r"[0-9]+\Z", text):
        raise Problem("--most is \"%s\"" % text)
    return text


# What a request may have: how it is read, and which source it is of.
WORDS = {"--from": (parent, None), "--most": (most, None),
         "--debian": (recipe.debian, "debian"),
         "--pypi": (lambda text: recipe.pypi(text, False), "pypi"),
         "--npm": (recipe.npm, "npm")}


class Sources:
    """--build-sources: which there are, and the options that say so."""

    def __init__(self, text):
        self.allowed, self.options = {"debian", "pypi", "npm"}, []
        if not text:
            return
        self.allowed = set()
        for word in text.split(","):
            kind, _, path = word.partition("=")
            self.allowed.add({"wheelhouse": "pypi", "npm-dir": "npm"}.get(kind,
                                                                          kind))
            if path:
                self.options += ["--" + kind, path]

    def check(self, source, text):
        if source and source not in self.allowed:
            raise Problem("this server builds nothing from %s (--build-sources), "
                          "and %s is from there" % (source, text))


def command(request, sources):
    """The words behind `fsd env build`."""
    words = shlex.split(request)
    if not words or not NAME.match(words[0]) or len(words) % 2 == 0:
        raise Problem("the request is none")
    for option, text in zip(words[1::2], words[2::2]):
        if option not in WORDS:
            raise Problem("the request has \"%s\"" % option)
        read, source = WORDS[option]
        read(text)
        sources.check(source, text)
    return words + sources.options


class Server:
    def __init__(self, options):
        self.sock = socket.socket(fileno=3)
        self.sources = Sources(options.sources)
        self.more = [word for name in ("image", "environments")
                     for word in ("--" + name, getattr(options, name))
                     if getattr(options, name)]

    def say(self, text):
        self.sock.send(plain(text)[:TEXT_MAX].encode("utf-8", "replace"))

    def build(self, words):
        """Return: None, or what went wrong. EOFError, BrokenPipeError: the server
        has ended, and so has the build."""
        said, errors = b"", b""
        with child([PROGRAM, "env", "build", *words, *self.more, "--json"]) as \
                running, selectors.DefaultSelector() as ready, \
                open(os.pidfd_open(running.pid), "rb") as ended:
            for stream in (self.sock, running.stdout, running.stderr, ended):
                ready.register(stream, selectors.EVENT_READ)
            while True:
                found = [key.fileobj for key, _ in ready.select()]
                if self.sock in found:
                    raise EOFError
                if found == [ended]:  # and all that it has said is read
                    break
                for stream in found:
                    data = b"" if stream is ended else os.read(
                        stream.fileno(), 1 << 16)
                    if stream is running.stderr:
                        errors = (errors + data)[-8192:]
                    elif stream is running.stdout:
                        said = self.steps(said + data)
                    if not data and stream is not ended:
                        ready.unregister(stream)
        if running.returncode == 0:
            return None
        text = last_words(errors.decode("utf-8", "replace"), 1)
        return text.removeprefix("fsd env: ")

    def steps(self, text):
        """Tells the lines that are whole. Return: the rest."""
        *lines, rest = text.split(b"\n")
        for line in lines:
            try:
                self.say("step " + json.loads(line)["text"])
            except (ValueError, KeyError, TypeError):
                continue
        return rest

    def answer(self, request):
        try:
            why = self.build(command(request, self.sources))
        except (Problem, ValueError, OSError) as e:
            why = str(e)
        self.say("failed " + why if why else "ok")

    def serve(self):
        while True:
            request = self.sock.recv(REQUEST_MAX)
            if not request:
                return
            self.answer(request.decode("utf-8", "replace"))


def main(words):
    p = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("image", "environments", "sources"):
        p.add_argument("--" + name)
    try:
        Server(p.parse_args(words)).serve()
    except (EOFError, ConnectionError, KeyboardInterrupt):
        pass
    return 0
