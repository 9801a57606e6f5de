# A syntax error shows the line and where it is, and nothing has run.
print("never")
def broken(:
    pass
