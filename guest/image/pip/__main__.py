# SPDX-License-Identifier: Apache-2.0
"""`python3 -m pip`, and runpy in a program or a cell, which goes on behind it."""
import sys

from pip import main

if __name__ == "__main__":
    sys.exit(main())
