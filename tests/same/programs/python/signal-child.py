# A child that ignores SIGTERM is killed; groups get signals as a whole.
import os
import signal
import subprocess

p = subprocess.Popen(["bash", "-c", "trap 'echo no' TERM; echo ready; "
                      "while :; do sleep 0.05; done"],
                     stdout=subprocess.PIPE, text=True,
                     start_new_session=True)
print(p.stdout.readline())
p.terminate()
print(p.stdout.readline(), p.poll())
os.killpg(p.pid, signal.SIGKILL)
print(p.wait())
p.stdout.close()
