# pdb reads its commands from standard input.
x = [1, 2]
breakpoint()
print("after", x)
