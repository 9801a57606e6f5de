# SPDX-License-Identifier: Apache-2.0
"""Inspect's own check of a sandbox provider.

expected: what cannot pass here, as a machine has one user only.
"""
import asyncio

from fsd_sandbox.inspect_sandbox import FsdSandboxEnvironment
from inspect_ai.util._sandbox import self_check

OTHER_USER = {"test_exec_as_user", "test_exec_as_nonexistent_user"}


def test_self_check() -> None:
    async def main() -> dict:
        made = await FsdSandboxEnvironment.sample_init("check", None, {})
        try:
            return await self_check.self_check(made["default"])
        finally:
            await FsdSandboxEnvironment.sample_cleanup("check", None, made,
                                                       False)

    results = asyncio.run(main())
    failed = {name for name, result in results.items() if result is not True}
    assert len(results) >= 40
    assert failed <= OTHER_USER, {name: str(results[name]) for name in failed}
