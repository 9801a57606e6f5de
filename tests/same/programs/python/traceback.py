# A traceback names the file and shows each line, and the code is 1.
def ratio(a, b):
    return a / b


def main():
    print("begin")
    return [ratio(n, n - 1) for n in (3, 2, 1)]


main()
