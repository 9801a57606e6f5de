# SPDX-License-Identifier: Apache-2.0
"""`import pip` and `python3 -m pip`, where no environment brings a real one: the program
pip of the image answers, which says whether a package is there."""
__version__ = "0"
PROGRAM = "/usr/local/bin/pip"


def main(args=None):
    """Return: the exit code of `pip ARGS`; args: a list, None: those of this program."""
    import subprocess
    import sys

    sys.stdout.flush()
    return subprocess.call([PROGRAM, *(sys.argv[1:] if args is None else args)])
