# TMPDIR is obeyed.
import os
import tempfile

os.makedirs(os.environ["TMPDIR"], exist_ok=True)
with tempfile.NamedTemporaryFile() as f:
    print(os.path.dirname(f.name))
