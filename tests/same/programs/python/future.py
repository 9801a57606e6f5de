# A future statement may stand behind the comment and the docstring.
"""The docstring."""
from __future__ import annotations


def f(x: NotThere) -> Neither:
    return x


print(__doc__, f.__annotations__, f(1))
