# Archives and compressed files are made and read, the same bytes each time.
import bz2
import gzip
import io
import lzma
import shutil
import tarfile
import zipfile
import zlib

text = b"some text that repeats " * 100
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr(zipfile.ZipInfo("dir/ü.txt", (2024, 1, 1, 0, 0, 0)), text)
    print([(i.filename, i.file_size, i.CRC) for i in z.infolist()], z.testzip())


def plain(info):
    info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
    return info


with open("f.txt", "wb") as f:
    f.write(text)
for kind in ("gz", "bz2", "xz"):
    with tarfile.open("a.tar." + kind, "w:" + kind) as t:
        t.add("f.txt", filter=plain)
    with tarfile.open("a.tar." + kind) as t:
        print(t.getnames(), t.extractfile("f.txt").read() == text)
shutil.unpack_archive("a.tar.bz2", "out")
with gzip.GzipFile("b.gz", "wb", mtime=0) as f:
    f.write(text)
print(gzip.open("b.gz").read() == text, zlib.crc32(text), zlib.adler32(text))
print(len(bz2.compress(text)), len(lzma.compress(text)), len(zlib.compress(text, 9)))
for call in (lambda: zlib.decompress(b"nope"), lambda: zipfile.ZipFile("f.txt"),
             lambda: tarfile.open("f.txt"), lambda: gzip.decompress(b"x" * 20)):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
import os
os.unlink("a.tar.gz")
