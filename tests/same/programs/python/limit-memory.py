# Memory over RLIMIT_AS is a MemoryError.
import resource

resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
try:
    x = bytearray(400 << 20)
except MemoryError:
    print("caught")
[0] * (1 << 33)
