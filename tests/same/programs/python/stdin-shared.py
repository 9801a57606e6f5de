# A child goes on with standard input where its parent has stopped.
import os
import subprocess

print(os.read(0, 4))
print(subprocess.run(["head", "-n", "1"], capture_output=True).stdout)
os.lseek(0, 0, os.SEEK_SET)
print(subprocess.run(["wc", "-l"], capture_output=True, text=True).stdout)
