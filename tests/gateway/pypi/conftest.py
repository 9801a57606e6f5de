# SPDX-License-Identifier: Apache-2.0
"""Names of langchain-tests that say what Deep Agents did before its version 0.7.

They fail on each backend that has the framework's own glob() and write(), so they are
expected to fail here; test_deepagents.py has what is right now.
"""
import pytest

BEFORE_0_7 = {
    "test_glob": "glob() gives absolute paths",
    "test_glob_basic_pattern": "glob() gives absolute paths",
    "test_glob_hidden_files_explicitly": "glob() gives absolute paths",
    "test_glob_with_character_class": "glob() gives absolute paths",
    "test_glob_with_question_mark": "glob() gives absolute paths",
    "test_glob_with_directories": "glob() gives no directories",
    "test_write_existing_file_fails": "write() replaces a file",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = BEFORE_0_7.get(item.name)
        if reason and item.parent and item.parent.name == "TestFsdSandbox":
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
