# SPDX-License-Identifier: Apache-2.0
"""`python3 -m pip`: becomes the program."""
import os
import sys

from pip import PROGRAM

os.execv(PROGRAM, ["pip", *sys.argv[1:]])
