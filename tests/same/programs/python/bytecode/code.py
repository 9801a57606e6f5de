# Imports of the program's own modules leave no compiled files.
import os
import sys

import mine

print(sys.dont_write_bytecode, os.path.exists("__pycache__"), mine.x)
