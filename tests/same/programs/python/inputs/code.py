# Inputs of the job are there with content and names, and may be changed.
import os

for folder, folders, files in os.walk("."):
    folders.sort()
    for name in sorted(files):
        if name == "stdin" or "pycache" in folder:
            continue
        path = os.path.join(folder, name)
        st = os.stat(path)
        print(path, st.st_size, st.st_uid, os.access(path, os.W_OK))
with open("data/numbers.csv", "a") as f:
    f.write("4\n")
os.unlink("data/empty")
os.rename("data/deep/in/text.txt", "moved.txt")
