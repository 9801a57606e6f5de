# fileinput, select and csv read standard input.
import csv
import fileinput
import select
import sys

print(select.select([sys.stdin], [], [], 5)[0] == [sys.stdin])
rows = csv.DictReader(fileinput.input("-"))
for row in rows:
    print(row)
