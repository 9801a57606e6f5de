# The interpreter's own settings are the usual ones.
import sys

print(sys.flags)
print(sys.path)
print(sys.prefix, sys.base_prefix, sys.platform, sys.version_info[:3])
print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.maxsize)
print(sys.gettrace(), sys.getprofile(), len(sys.path_hooks))
print(sys.warnoptions, sys.excepthook is sys.__excepthook__)
print(sys.displayhook is sys.__displayhook__, sys.unraisablehook)
print(sys.getfilesystemencoding(), sys.getdefaultencoding())
print(sys.hash_info.algorithm, sys.float_info.dig, sys.int_info)
