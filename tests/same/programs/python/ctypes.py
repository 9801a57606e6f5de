# C functions are called, with structures, callbacks and errors.
import ctypes
import ctypes.util

libc = ctypes.CDLL(None, use_errno=True)
print(libc.strlen(b"hello"), libc.abs(-5), ctypes.util.find_library("c"), flush=True)
libc.printf(b"printf %d\n", 42)
libc.fflush(None)
print(libc.open(b"/nothing", 0), ctypes.get_errno())


class P(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double)]


print(ctypes.sizeof(P), bytes(P(1, 2.5)))
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(lambda a, b: a[0] - b[0])
n = (ctypes.c_int * 4)(3, 1, 4, 1)
libc.qsort(n, 4, 4, compare)
print(list(n))
try:
    ctypes.CDLL("libnothing.so")
except OSError as e:
    print(e)
