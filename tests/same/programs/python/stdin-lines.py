# Lines are read by readline, iteration and readlines, whatever ends them.
import sys

print(repr(sys.stdin.readline()))
print(repr(next(sys.stdin)))
print(sys.stdin.readlines())
