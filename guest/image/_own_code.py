# SPDX-License-Identifier: Apache-2.0
"""Lets the standard library import its own module "code".

A job's program is called code.py. So is a module of the library that pdb needs,
and torch, numpy's tests and a spawned worker of multiprocessing load pdb. They
run in interpreters that have the program's directory first in their path, and
would take the program for the module. What the program itself imports is not
touched.
"""
import sys
from _frozen_importlib_external import PathFinder

_library = __file__.rpartition("/")[0]


class _OwnCode:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "code":
            return None
        frame = sys._getframe(1)
        while frame and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        file = frame.f_code.co_filename if frame else ""
        if file.startswith(_library + "/") or "/site-packages/" in file:
            return PathFinder.find_spec(name, [_library])
        return None


sys.meta_path.insert(0, _OwnCode)
