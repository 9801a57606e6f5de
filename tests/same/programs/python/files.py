# Files are created, read, renamed and removed in all the usual ways.
import os
import pathlib
import shutil

p = pathlib.Path("a/b/c")
p.mkdir(parents=True)
(p / "text.txt").write_text("one\ntwo\n")
(p / "bytes").write_bytes(bytes(range(256)))
with open(p / "text.txt", "r+") as f:
    print(f.readline(), f.tell())
    f.seek(0, 2)
    f.write("three\n")
    f.truncate(8)
print((p / "text.txt").read_text().splitlines())
shutil.copytree("a", "copy")
os.rename("copy/b/c/bytes", "moved")
os.replace("moved", "copy/moved")
shutil.move("copy/moved", "final")
shutil.rmtree("copy")
print(sorted(str(x) for x in pathlib.Path().rglob("*") if "pycache" not in str(x)))
for call in (lambda: open("nothing"), lambda: os.rmdir("a"),
             lambda: os.listdir("final"), lambda: open("a"),
             lambda: os.mkdir("a"), lambda: open("final/x"),
             lambda: os.rename("a", "a/b/x"), lambda: open("x" * 256, "w"),
             lambda: open("nul\0byte"), lambda: os.unlink("a")):
    try:
        call()
    except (OSError, ValueError) as e:
        print(type(e).__name__, e)
st = os.stat("final")
print(st.st_size, st.st_nlink, oct(st.st_mode), st.st_uid, st.st_gid)
with open("sparse", "wb") as f:
    f.seek(1 << 20)
    f.write(b"end")
print(os.stat("sparse").st_size, os.stat("sparse").st_blocks < 100)
os.posix_fallocate(os.open("full", os.O_RDWR | os.O_CREAT), 0, 5000)
