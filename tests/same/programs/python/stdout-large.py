# Three megabytes of lines arrive whole.
for n in range(40000):
    print(n, "x" * 70)
