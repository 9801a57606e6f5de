# Standard input is read in two passes.
import sys

head = sys.stdin.readline()
sys.stdin.seek(0)
print(head.strip(), len(sys.stdin.read()), sys.stdin.seekable())
sys.stdin.seek(0)
print(sum(1 for _ in sys.stdin), sys.stdin.tell())
