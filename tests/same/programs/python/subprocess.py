# Children get input and environment, and give output, code and signal.
import os
import signal
import subprocess
import sys

run = subprocess.run
print(run(["cat"], input=b"through", capture_output=True))
print(run("echo $0 $1; exit 3", shell=True, capture_output=True, text=True))
print(run([sys.executable, "-c", "import sys; print(sys.argv, __name__)", "a"],
          capture_output=True, text=True).stdout)
print(run(["sh", "-c", "kill -9 $$"]).returncode)
print(run(["env"], env={"ONLY": "1"}, capture_output=True).stdout)
print(run(["pwd"], cwd="/usr", capture_output=True).stdout)
for words in (["no-such-command"], ["/etc/passwd"], ["/etc"]):
    try:
        run(words)
    except OSError as e:
        print(type(e).__name__, e)
try:
    run(["false"], check=True)
except subprocess.CalledProcessError as e:
    print(e)
try:
    run(["sleep", "30"], timeout=0.1)
except subprocess.TimeoutExpired as e:
    print(e)
p = subprocess.Popen(["sh", "-c", "echo out; echo err >&2"],
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(p.communicate(), p.returncode)
print(subprocess.getstatusoutput("ls /nowhere"))
print(os.system("exit 5"), os.popen("echo popen").read())
sys.stdout.flush()
run(["echo", "inherited"])
run("echo to stderr >&2", shell=True)
