# A file over RLIMIT_FSIZE is an error, and SIGXFSZ is ignored by Python.
import resource

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with open("small", "wb") as f:
    f.write(b"x" * 1000)
with open("large", "wb", buffering=0) as f:
    print(f.write(b"x" * 1500))
    f.write(b"y")
