# getpass without a terminal reads standard input and warns; users have names.
import getpass
import os
import shutil

print(getpass.getuser(), os.path.expandvars("$HOME"), shutil.get_terminal_size())
print(getpass.getpass("word: "))
print(shutil.which("python3"), shutil.which("nothing-like-it"), shutil.which("node"))
