# Without standard input every way of reading it ends at once.
import os
import sys

print(repr(sys.stdin.read()), repr(sys.stdin.readline()), list(sys.stdin))
print(os.read(0, 10), sys.stdin.buffer.read())
print(repr(open("/dev/stdin").read()), repr(open(0, closefd=False).read()))
try:
    input("prompt> ")
except EOFError as e:
    print("EOFError", e)
