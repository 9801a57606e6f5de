# The main module has the names that it always has.
print(__name__, __file__, __doc__, __package__, __spec__, __cached__)
print(sorted(dir()))
print(type(__loader__).__name__, __builtins__, __annotations__)
x: int = 3
print(__annotations__)
import __main__
import sys
print(sys.modules["__main__"] is __main__, __main__.x)
