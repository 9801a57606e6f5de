# SPDX-License-Identifier: Apache-2.0
"""RAGFlow: its security tests of a sandbox, and its provider `self_managed`.

The checkout is infiniflow/ragflow.  Its code runs in an environment with the two packages
that it imports; ragflow_client.py, in that environment, prints what came of each case.
"""
import json
import os
import subprocess

import pytests

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["requests==2.34.2", "pydantic==2.14.4"]


def install(suite, place):
    return pytests.packages(place.out + "/ragflow", PACKAGES)


def run(suite, place):
    python = install(suite, place) + "/bin/python"
    done = subprocess.run(
        [python, "-B", HERE + "/ragflow_client.py", suite.include[0],
         os.path.join(place.dir, suite.checkout)],
        env=dict(place.env, SANDBOX_API_URL=place.url + "/run", GATEWAY_URL=place.url),
        stdout=subprocess.PIPE, text=True, timeout=600 * place.slow, check=True)
    return {name: tuple(outcome)
            for name, outcome in json.loads(done.stdout.splitlines()[-1]).items()}
