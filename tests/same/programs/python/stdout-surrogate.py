# A lone surrogate cannot be printed.
print("before")
print("\ud800")
