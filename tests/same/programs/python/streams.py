# The standard streams have the usual encodings, modes and buffers.
import io
import os
import stat
import sys

for s in (sys.stdin, sys.stdout, sys.stderr):
    print(s.name, s.mode, s.encoding, s.errors, s.newlines, s.isatty(),
          s.fileno(), s.line_buffering, s.write_through, type(s.buffer))
print(stat.S_ISFIFO(os.fstat(1).st_mode), stat.S_ISFIFO(os.fstat(2).st_mode))
print(sys.stdout.seekable(), sys.stdout.writable(), sys.stdout.readable())
try:
    sys.stdin.write("x")
except io.UnsupportedOperation as e:
    print(e)
print(os.isatty(0), os.get_inheritable(1), os.get_blocking(1))
