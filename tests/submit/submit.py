# SPDX-License-Identifier: Apache-2.0
"""submit JOB CONFIG — makes a job, waits, prints its exit code, its output and
a file that it left. What a call refuses makes it fail."""
import os
import sys

job, config = sys.argv[1:]
os.mkdir(job)
with open(job + "/code.sh", "w") as f:
    f.write("out hello\nerr oops\nwrite result.txt made\nexit 7\n")
with open(job + "/config.json", "w") as f:
    f.write(config)
for name in "wait", "stdout", "output/result.txt":
    with open(job + "/" + name) as f:
        print(f.read(), end="")
