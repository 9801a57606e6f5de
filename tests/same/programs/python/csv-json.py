# CSV and JSON with quotes, other letters, exact numbers and errors.
import csv
import json
import sys

with open("t.csv", "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter=";")
    w.writerows([["name", "text"], ["Zoë", 'with "quotes"; and\nlines'], ["日本", ""]])
with open("t.csv", newline="", encoding="utf-8") as f:
    for row in csv.DictReader(f, delimiter=";"):
        print(row)
print(csv.Sniffer().sniff("a,b\n1,2\n3,4").delimiter)
data = {"é": [1, 2.5, 1e400, None, True], "big": 2**80, "nested": {"b": 1, "a": {}}}
print(json.dumps(data), json.dumps(data, ensure_ascii=False, sort_keys=True, indent=1))
with open("data.json", "w") as f:
    json.dump(data, f)
print(json.loads('{"x": 0.1, "y": "\\ud83d\\ude00"}', parse_float=str))
for bad in ('{"a":1,}', "[1", "NaN", "'x'", ""):
    try:
        print(json.loads(bad))
    except json.JSONDecodeError as e:
        print(e)
try:
    json.dumps({1, 2})
except TypeError as e:
    print(e)
csv.writer(sys.stdout).writerow(["end", 1.5, None])
