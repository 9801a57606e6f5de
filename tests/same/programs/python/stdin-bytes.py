# Bytes that are no text are read, and the text layer says where it fails.
import sys

print(sys.stdin.buffer.readline())
try:
    print(sys.stdin.read())
except UnicodeDecodeError as e:
    print(e.reason, e.start)
