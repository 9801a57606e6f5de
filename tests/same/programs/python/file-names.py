# Names of files are bytes: other encodings, blanks, quotes, lines, 255 bytes.
import os

names = ["plain", "caf\u00e9", "re\u0301sume\u0301", "\u65e5\u672c", "a b",
         "quote'\"", "back\\slash", "$(x)", "-rf", "...", "%20", "\U0001f600",
         "x" * 255, "tab\there", "line\nbreak"]
raw = ["caf\u00e9 2".encode("latin-1"), "\u65e5\u672c".encode("shift_jis"),
       b"\xff\xfe", b"\x01control", b"del\x7f"]
os.mkdir("names")
os.chdir("names")
for name in [os.fsencode(n) for n in names] + raw:
    with open(name, "wb") as f:
        f.write(name)
for name in sorted(os.listdir(b".")):
    print(name)
for name in sorted(os.listdir(".")):
    print(ascii(name))
