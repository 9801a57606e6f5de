# A package runs by -m, and runpy runs files and modules.
import os
import runpy
import subprocess
import sys

os.makedirs("pkg")
for name, text in {"__init__": "", "__main__": "import sys; print(__name__, "
                   "__package__, sys.argv[1:])", "tool": "print('tool', __name__)\nx = 5"
                   }.items():
    with open(f"pkg/{name}.py", "w") as f:
        f.write(text)
print(subprocess.run([sys.executable, "-m", "pkg", "a"], capture_output=True,
                     text=True).stdout)
print(runpy.run_module("pkg.tool")["x"])
print(runpy.run_path("pkg/tool.py", run_name="__other__")["__name__"])
runpy.run_module("pkg", run_name="__main__", alter_sys=True)
