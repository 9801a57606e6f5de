# faulthandler tells where a segmentation fault was, and the code is 139.
import ctypes
import faulthandler

faulthandler.enable(all_threads=False)


def crash():
    ctypes.string_at(8)


print("before", flush=True)
crash()
