# A program has three descriptors, and opens the fourth as 3.
import os
import subprocess

print(sorted(map(int, os.listdir("/proc/self/fd"))))
with open(__file__) as f:
    print(f.fileno())
    with open(__file__) as g:
        print(g.fileno())
print(os.pipe())
print(subprocess.run("ls /proc/self/fd", shell=True, text=True,
                     capture_output=True).stdout.split())
