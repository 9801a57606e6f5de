# os.abort ends with 134.
import os

print("before", flush=True)
os.abort()
