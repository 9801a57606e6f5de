# The environment is that of a login of user, and is handed on to children.
import os
import subprocess

for name in sorted(os.environ):
    print(name, os.environ[name])
os.environ["MINE"] = "1 2"
os.putenv("PUT", "x")
del os.environ["GIVEN"]
print(subprocess.run("env | sort | grep -v '^_='", shell=True, text=True,
                     capture_output=True).stdout)
