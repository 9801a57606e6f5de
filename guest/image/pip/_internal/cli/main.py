# SPDX-License-Identifier: Apache-2.0
"""pip._internal.cli.main.main(), where a newer pip has it."""
from pip import main

__all__ = ["main"]
