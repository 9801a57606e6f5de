# Standard input is a file: its size is known, and it is read in one call.
import os
import stat

st = os.fstat(0)
print(stat.S_ISREG(st.st_mode), st.st_size)
data = os.read(0, st.st_size)
print(len(data), data[:10], data[-10:])
print(os.lseek(0, 0, os.SEEK_CUR), os.pread(0, 5, 2))
