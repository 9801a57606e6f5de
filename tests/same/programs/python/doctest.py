# doctest finds the examples of the main module.
"""
>>> add(1, 2)
3
>>> add(1, 1)
3
"""
import doctest


def add(a, b):
    """
    >>> add("a", "b")
    'ab'
    """
    return a + b


print(doctest.testmod())
