# Spawned processes import the program and its classes.
import multiprocessing as mp
import os
import sys

WORD = "imported"


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def works(pipe, pair):
    pipe.send((__name__, WORD, pair.a + pair.b, sys.argv, os.getcwd()))
    sys.exit(6)


if __name__ == "__main__":
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    p = context.Process(target=works, args=(there, Pair(1, 2)))
    p.start()
    print(here.recv())
    p.join()
    print(p.exitcode)
