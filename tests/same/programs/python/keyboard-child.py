# SIGINT to the group ends a waiting program and its child.
import os
import signal
import subprocess
import sys

code = """
import os, signal, subprocess, sys
os.setpgid(0, 0)
child = subprocess.Popen(['sleep', '60'])
os.killpg(0, signal.SIGINT)
try:
    child.wait()
    print('child', child.returncode)
except KeyboardInterrupt:
    print('interrupted', child.wait())
"""
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
