# A pipeline of children ends when its reader has enough.
from subprocess import PIPE, Popen

yes = Popen(["yes", "word"], stdout=PIPE)
head = Popen(["head", "-n", "3"], stdin=yes.stdout, stdout=PIPE, text=True)
yes.stdout.close()
print(head.communicate()[0], head.returncode, yes.wait())
