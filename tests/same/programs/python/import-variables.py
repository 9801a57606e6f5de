# A library reads its variables when the program imports it, not before.
import os
import sys

os.makedirs("/tmp/zones/Own")
with open("/usr/share/zoneinfo/Etc/GMT-5", "rb") as zone:
    with open("/tmp/zones/Own/Zone", "wb") as own:
        own.write(zone.read())
os.environ["PYTHONTZPATH"] = "/tmp/zones"
import datetime
import zoneinfo

print(zoneinfo.TZPATH)
print(datetime.datetime(2025, 1, 1, tzinfo=zoneinfo.ZoneInfo("Own/Zone")).isoformat())
os.environ["PYTHONTZPATH"] = "/nowhere"
import zoneinfo

print(zoneinfo.TZPATH)  # imported already

# It looks like any interpreter.
import builtins
import inspect

for function in builtins.__import__, os.putenv, os.chdir, os.unsetenv, os.fchdir:
    print(function, function.__module__, function.__qualname__)
    print(inspect.getdoc(function).splitlines()[0])
print(inspect.signature(os.chdir), os.putenv is sys.modules["posix"].putenv)
for wrong in ((), (1,), ("",), ("json", 5, 5, 5, 5), ("json", {}, {}, [[]])):
    try:
        print(__import__(*wrong).__name__)
    except Exception as error:
        print(type(error).__name__, error)
print(__import__("os.path", fromlist=["join"]).__name__, __import__(name="os").__name__)
