# A module that was written by the program is imported, and reloaded when changed.
import importlib
import os
import sys

with open("made.py", "w") as f:
    f.write("value = 1\n")
import made
print(made.value)
with open("made.py", "w") as f:
    f.write("value = 'another'\n")
importlib.reload(made)
print(made.value, made.__file__)
os.makedirs("plugins")
with open("plugins/one.py", "w") as f:
    f.write("def go():\n    return __name__\n")
sys.path.insert(0, "plugins")
print(__import__("one").go())
