# Recursion without end is an error that can be caught, and its trace is short.
def down(n):
    return down(n + 1)


try:
    down(0)
except RecursionError as e:
    print(e)
down(0)
