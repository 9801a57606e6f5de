# SPDX-License-Identifier: Apache-2.0
"""LangChain's standard tests of a sandbox, on a backend of ours.

Run by adapters.sh in front of a mount with real machines.
"""
from collections.abc import Iterator

import pytest
from fsd_sandbox.deepagents_backend import FsdProvider, FsdSandbox
from fsd_sandbox.result import FsdError
from langchain_tests.integration_tests import SandboxIntegrationTests


@pytest.fixture(scope="module")
def backend() -> Iterator[FsdSandbox]:
    with FsdSandbox.create() as made:
        yield made


class TestFsdSandbox(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self) -> Iterator[FsdSandbox]:
        with FsdSandbox.create() as backend:
            yield backend


def test_glob_gives_absolute_paths_of_files_only(backend) -> None:
    backend.execute("mkdir -p /tmp/g/d.txt; touch /tmp/g/1.txt /tmp/g/d.txt/2.txt")
    said = backend.glob("*.txt", path="/tmp/g")
    assert [(m["path"], m["is_dir"]) for m in said.matches] == \
        [("/tmp/g/1.txt", False), ("/tmp/g/d.txt/2.txt", False)]


def test_files_are_handled_without_a_program_in_the_machine(
        backend, monkeypatch) -> None:
    backend.execute("mkdir -p /tmp/f/d")

    def never(command: str, **_: object) -> None:
        raise AssertionError("a program was started: " + command)

    monkeypatch.setattr(backend, "execute", never)
    for path in ("/home/user/f.txt", "/tmp/f/f.txt"):
        assert backend.write(path, "first").error is None
        assert backend.write(path, "1\n2\n2\n").path == path
        assert backend.read(path, 1, 1).file_data["content"] == "2"
        assert backend.edit(path, "2", "3", replace_all=True).occurrences == 2
        assert backend.read(path).file_data["content"] == "1\n3\n3"
    assert backend.ls("/tmp/f").entries == [
        {"path": "/tmp/f/d", "is_dir": True},
        {"path": "/tmp/f/f.txt", "is_dir": False}]
    assert backend.delete("/tmp/f/f.txt").error is None
    assert len(backend.ls("/tmp/f").entries) == 1


def test_what_the_mount_does_not_show_is_asked_of_the_machine(backend) -> None:
    backend.execute("mkdir -p /tmp/l/d; echo text > /tmp/l/d/f; ln -s d /tmp/l/s; "
                    "printf 'a\\r\\nb\\r\\n' > /tmp/l/crlf")
    assert backend.read("/tmp/l/s/f").file_data["content"] == "text"
    assert {e["path"] for e in backend.ls("/tmp/l").entries} == \
        {"/tmp/l/d", "/tmp/l/s", "/tmp/l/crlf"}
    assert backend.edit("/tmp/l/crlf", "a\nb", "c\nd").error is None
    assert backend.download_files(["/tmp/l/crlf"])[0].content == b"c\r\nd\r\n"
    assert backend.delete("/tmp/l/d").error is None
    assert "not found" in backend.read("/tmp/l/d/f").error.replace("_", " ")
    assert "not found" in backend.edit("/tmp/l/d/f", "a", "b").error


def test_a_command_that_runs_out_of_time_has_exit_code_124(backend) -> None:
    said = backend.execute("echo begun; sleep 600", timeout=20)
    assert said.exit_code == 124
    assert said.output.startswith("begun\n")


def test_both_streams_come_in_their_order(backend) -> None:
    said = backend.execute("echo 1; sleep 0.2; echo 2 >&2; sleep 0.2; echo 3")
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
