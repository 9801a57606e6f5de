# sys.exit with a text writes it to standard error, with code 1.
import sys

try:
    sys.exit("something is wrong")
finally:
    print("finally")
