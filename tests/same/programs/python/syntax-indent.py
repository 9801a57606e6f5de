# A wrong indentation is told as such.
if True:
        print(1)
    print(2)
