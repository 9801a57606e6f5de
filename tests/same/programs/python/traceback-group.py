# A group of exceptions is shown as a tree, and except* takes a part of it.
def check(n):
    if n % 2:
        raise ValueError(f"{n} is odd")
    raise TypeError(f"{n} is even")


errors = []
for n in range(4):
    try:
        check(n)
    except Exception as e:
        errors.append(e)
try:
    raise ExceptionGroup("all checks", errors)
except* TypeError as group:
    print("types:", [str(e) for e in group.exceptions])
