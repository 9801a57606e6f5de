# SPDX-License-Identifier: Apache-2.0
"""OpenAI Agents' sandbox for E2B, as it comes, in front of a gateway.

Its commands have a timeout of a day, and its workspace is /workspace."""
import io
from pathlib import Path

import pytest
from agents.extensions.sandbox.e2b.sandbox import (
    E2BSandboxClient, E2BSandboxClientOptions, E2BSandboxType)


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", E2BSandboxType)
async def test_a_session_runs_commands_and_keeps_files(
        kind: E2BSandboxType) -> None:
    client = E2BSandboxClient()
    session = await client.create(
        options=E2BSandboxClientOptions(sandbox_type=kind))
    async with session:
        said = await session.exec("echo hello; pwd")
        assert (said.stdout, said.exit_code) == (b"hello\n/workspace\n", 0)
        await session.write(Path("a/b.txt"), io.BytesIO(b"content"))
        assert (await session.read(Path("a/b.txt"))).read() == b"content"
        said = await session.exec("python3 -c 'print(open(\"a/b.txt\").read())'; exit 3")
        assert (said.stdout, said.exit_code) == (b"content\n", 3)
        assert await session.running()
    await client.delete(session)
