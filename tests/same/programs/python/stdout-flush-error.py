# What cannot be written at the end is told, with code 120.
import os

os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
print("lost")
