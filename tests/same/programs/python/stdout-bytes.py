# Bytes, text and raw writes come in the order in which they were flushed.
import os
import sys

print("text", flush=True)
sys.stdout.buffer.write(bytes(range(256)))
sys.stdout.flush()
os.write(1, b"\nraw\n")
print("é 日本 \U0001f600 \udcff".encode("utf-8", "surrogateescape"))
print("a", "b", sep="\t", end="\r\n")
sys.stderr.write("no newline at the end of stderr")
sys.stdout.write("none of stdout either")
