# SPDX-License-Identifier: Apache-2.0
"""A smolagents executor that runs an agent's code in a sandbox of fsd.

    from smolagents import CodeAgent
    from fsd_sandbox.smolagents_executor import FsdExecutor

    agent = CodeAgent(tools=[], model=model,
                      executor=FsdExecutor([], logger))
"""
from __future__ import annotations

import re
from io import BytesIO
from typing import Any

from smolagents.local_python_executor import CodeOutput
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

from .mount import Mount
from .result import Display, Result
from .sandbox import Sandbox

TEXTS = ("text/html", "application/javascript", "application/json",
         "text/latex", "text/markdown", "image/svg+xml", "text/plain")
# The source of final_answer imports these at its top and can do without them.
OPTIONAL = re.compile(r"^import (numpy|PIL)$", re.MULTILINE)


def shown(displays: list[Display], text: str | None) -> Any:
    """Returns what the last expression showed: an image, or a text."""
    main = {d.mime: d.data for d in displays if d.main}
    for mime in ("image/jpeg", "image/png"):
        if mime in main:
            import PIL.Image
            data = main[mime]
            assert isinstance(data, bytes)
            return PIL.Image.open(BytesIO(data))
    for mime in TEXTS:
        if mime in main:
            return main[mime]
    return text


class FsdExecutor(RemotePythonExecutor):
    """Runs an agent's code in the interpreter of one sandbox.

    sandbox: an own one is made without it, with the keys of Mount.sandbox(),
    and ends by cleanup(). timeout: seconds of one piece of code. An agent
    with additional_args needs an environment with PIL, such as data.
    """

    def __init__(self, additional_imports: list[str], logger: Any,
                 allow_pickle: bool = False, *, sandbox: Sandbox | None = None,
                 mount: str | None = None, timeout: float = 60, **keys: Any):
        super().__init__(additional_imports, logger, allow_pickle)
        self.timeout = timeout
        self._defining = False
        self._own = sandbox is None
        self.sandbox: Sandbox | None = sandbox or Mount(mount).sandbox(**keys)
        try:
            self.installed_packages = self.install_packages(additional_imports)
        except BaseException:
            self.cleanup()
            raise

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Sends their source. numpy and PIL may be missing in the machine."""
        self._defining = True
        try:
            super().send_tools(tools)
        finally:
            self._defining = False

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        if self.sandbox is None:
            raise AgentError("the sandbox of this executor has ended",
                             self.logger)
        if self._defining:
            code = OPTIONAL.sub(r"try: import \1\nexcept ImportError: pass",
                                code)
        result = self.sandbox.cell(code, session="agent",
                                   timeout=self.timeout).check()
        if result.error and result.error.name == self.FINAL_ANSWER_EXCEPTION:
            answer = self._deserialize_final_answer(result.error.value,
                                                    self.allow_pickle)
            return CodeOutput(output=answer, logs=result.stdout,
                              is_final_answer=True)
        if not result.ok:
            raise AgentError(self._failure(result), self.logger)
        return CodeOutput(output=shown(result.displays, result.text),
                          logs=result.stdout, is_final_answer=False)

    @staticmethod
    def _failure(result: Result) -> str:
        said = result.output
        if result.error:
            return (f"{said}\nExecuting code yielded an error:\n"
                    f"{result.error.name}\n{result.error.value}\n"
                    f"{result.error.traceback}")
        return f"{said}\n{result.message or result.status}"

    def cleanup(self) -> None:
        """Ends the sandbox, if this executor has made it."""
        if self.sandbox is not None and self._own:
            self.sandbox.close()
        self.sandbox = None

    delete = cleanup
