# Arguments arrive as they are: empty, spaces, quotes, other scripts.
import sys

for word in sys.argv:
    print(ascii(word))
print(len(sys.orig_argv), sys.executable)
