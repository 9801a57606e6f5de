# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: tests that ask for the template base get OFFICIAL_TEMPLATE."""
import os

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    value = yield
    if fixturedef.argname == "template" and value == "base":
        value = os.environ["OFFICIAL_TEMPLATE"]
        fixturedef.cached_result = (value, *fixturedef.cached_result[1:])
    return value
