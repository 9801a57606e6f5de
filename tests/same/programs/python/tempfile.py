# Temporary files go to /tmp, or to TMPDIR, and are gone at the end.
import os
import tempfile

print(tempfile.gettempdir(), tempfile.gettempprefix())
with tempfile.TemporaryDirectory(prefix="mine-") as d:
    print(os.path.dirname(d), oct(os.stat(d).st_mode))
    with tempfile.NamedTemporaryFile("w+", dir=d, suffix=".txt") as f:
        f.write("x")
        f.flush()
        print(os.path.getsize(f.name), oct(os.stat(f.name).st_mode))
print(os.path.exists(d))
with tempfile.SpooledTemporaryFile(10) as f:
    f.write(b"x" * 20)
    f.seek(0)
    print(len(f.read()))
fd, name = tempfile.mkstemp()
os.close(fd)
os.unlink(name)
st = os.stat("/tmp")
print(oct(st.st_mode), st.st_uid, os.listdir("/tmp"))
