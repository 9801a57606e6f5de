# Closed standard output is an error only for who writes there.
import os
import sys

os.close(1)
try:
    print("into nothing", flush=True)
except OSError as e:
    sys.stderr.write(f"{e}\n")
sys.stdout = None
print("ignored")
sys.stderr.write("end\n")
