# The limits are Debian's, and the soft ones may be raised.
import resource

print("NOFILE", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
for name in ("CORE", "STACK", "CPU", "FSIZE", "AS", "DATA", "RSS"):
    print(name, resource.getrlimit(getattr(resource, "RLIMIT_" + name)))
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, resource.RLIM_INFINITY))
files = [open(__file__) for _ in range(2000)]
print(len(files))
