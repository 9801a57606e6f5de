# SPDX-License-Identifier: Apache-2.0
"""LangChain's standard tests of a sandbox, on a backend of ours.

Run by adapters.sh in front of a mount with real machines.
"""
from collections.abc import Iterator

import pytest
from fsd_sandbox.deepagents_backend import FsdProvider, FsdSandbox
from fsd_sandbox.result import FsdError
from langchain_tests.integration_tests import SandboxIntegrationTests


class TestFsdSandbox(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self) -> Iterator[FsdSandbox]:
        with FsdSandbox.create() as backend:
            yield backend


def test_a_command_that_runs_out_of_time_has_exit_code_124() -> None:
    with FsdSandbox.create() as backend:
        said = backend.execute("echo begun; sleep 600", timeout=2)
        assert said.exit_code == 124
        assert said.output.startswith("begun\n")


def test_both_streams_come_in_their_order() -> None:
    with FsdSandbox.create() as backend:
        said = backend.execute(
            "echo 1; sleep 0.2; echo 2 >&2; sleep 0.2; echo 3")
        assert said.output == "1\n2\n3\n"


def test_a_provider_finds_a_sandbox_by_its_id() -> None:
    provider = FsdProvider()
    one = provider.get_or_create()
    one.execute("echo kept > file")
    assert provider.get_or_create(sandbox_id=one.id).execute(
        "cat file").output == "kept\n"
    provider.delete(sandbox_id=one.id)
    provider.delete(sandbox_id=one.id)
    with pytest.raises(FsdError, match="there is no sandbox"):
        provider.get_or_create(sandbox_id=one.id)
