# A module is imported out of an archive.
import sys
import zipfile
import zipimport

with zipfile.ZipFile("lib.zip", "w") as z:
    z.writestr("zipped.py", "def where():\n    return __file__\n")
    z.writestr("data/text.txt", "inside")
sys.path.insert(0, "lib.zip")
import zipped
print(zipped.where(), type(zipped.__loader__).__name__)
print(zipimport.zipimporter("lib.zip").get_data("data/text.txt"))
import os
os.remove("lib.zip")
