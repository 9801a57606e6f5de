# SPDX-License-Identifier: Apache-2.0
"""Inspect's own checks of a sandbox provider, all in one machine."""
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from fsd_sandbox.inspect_sandbox import FsdSandboxEnvironment
from inspect_ai.util import SandboxEnvironment
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

pytestmark = pytest.mark.asyncio(loop_scope="module")

CANNOT = {
    "test_exec_as_user": "a machine has one user",
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def made() -> AsyncIterator[SandboxEnvironment]:
    environments = await FsdSandboxEnvironment.sample_init("check", None, {})
    yield environments["default"]
    await FsdSandboxEnvironment.sample_cleanup("check", None, environments,
                                               False)


@pytest.fixture
def sandbox_env(request: pytest.FixtureRequest,
                made: SandboxEnvironment) -> SandboxEnvironment:
    reason = CANNOT.get(request.node.originalname)
    if reason:
        request.node.add_marker(pytest.mark.xfail(strict=True, reason=reason))
    return made
