# Text is wrapped, compared, formatted and taken apart.
import difflib
import pprint
import re
import shlex
import string
import textwrap
from collections import Counter

text = "It was the best of times, it was the worst of times. Naïve café."
print(textwrap.fill(text, 20), Counter(re.findall(r"\w+", text.lower())).most_common(3))
print(re.sub(r"(?P<a>\w+) of (\w+)", r"\2 for \g<a>", text))
try:
    re.compile("(?P<x>a")
except re.error as e:
    print(e, e.pos)
print("\n".join(difflib.unified_diff("a\nb\nc".split(), "a\nB\nc".split(),
                                     "old", "new", lineterm="")))
print(shlex.split("a 'b c' d\\ e"), shlex.quote("it's"))
print(string.Template("$x and ${y}").substitute(x=1, y=2))
print(f"{3.14159:>10.2f}|{1234567:,}|{255:#x}|{0.5:%}|{'é':^5}|{text!r:.8}|{3=}")
print("%05d %-6s| %e %r" % (42, "left", 12345.678, b"\xff"))
pprint.pprint({"key" + str(n): list(range(n * 6)) for n in range(4)}, width=40)
print(str.maketrans("ab", "xy"), "tab\t".expandtabs(8), "a-b".partition("-"))
