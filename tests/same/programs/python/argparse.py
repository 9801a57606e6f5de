# argparse refuses a wrong option with usage and code 2.
import argparse

p = argparse.ArgumentParser(description="Counts.")
p.add_argument("file", nargs="?")
p.add_argument("-n", "--number", type=int, default=3, help="how many")
print(p.parse_args(["-n", "5", "x"]))
p.print_help()
p.parse_args(["--number", "many"])
