# SPDX-License-Identifier: Apache-2.0
"""pip._internal.main(), which programs call although pip asks them not to."""
from pip import main

__all__ = ["main"]
