import platform
import sys

print("hello from Python", platform.python_version(), "args:", sys.argv[1:])
print("total:", sum(int(line) for line in open("numbers.txt")))
with open("squares.csv", "w") as out:
    for n in range(5):
        print(n, n * n, sep=",", file=out)
