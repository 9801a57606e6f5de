# sys.exit with a number is the code, cut to eight bits.
import atexit
import sys

atexit.register(print, "first registered")
atexit.register(print, "last registered")
print("main")
sys.exit(300)
