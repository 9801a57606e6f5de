# The program runs itself anew, as a module and with code on standard input.
import os
import subprocess
import sys

if len(sys.argv) > 1:
    print("again", sys.argv[1:], __name__, __file__)
    sys.exit(4)
me = [sys.executable, __file__]
print(subprocess.run([*me, "x y"], capture_output=True, text=True))
print(subprocess.run([sys.executable, "-"], input="print(__name__, 1 + 1)",
                     capture_output=True, text=True).stdout)
print(subprocess.run([sys.executable, "-m", "json.tool"], input="[1]",
                     capture_output=True, text=True).stdout)
print(subprocess.run([sys.executable, "-c", "import nope"],
                     capture_output=True, text=True).stderr)
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.path, "
                      "sys.flags.no_user_site, 'json' in sys.modules)"],
                     capture_output=True, text=True).stdout)
sys.stdout.flush()
os.execv(sys.executable, [*me, "exec"])
