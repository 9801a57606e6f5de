# SPDX-License-Identifier: Apache-2.0
"""LangChain's standard tests of a sandbox, on its own backend for E2B.

A row of official/suites.py, which starts the gateway that the environment names.
"""
from collections.abc import Iterator

import pytest
from e2b import Sandbox
from langchain_e2b import E2BSandbox
from langchain_tests.integration_tests import SandboxIntegrationTests


class TestE2BSandbox(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self) -> Iterator[E2BSandbox]:
        made = Sandbox.create(timeout=3600)
        yield E2BSandbox(sandbox=made)
        made.kill()
