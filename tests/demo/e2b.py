# SPDX-License-Identifier: Apache-2.0
"""One call of E2B's protocol, as its SDKs make it, with nothing but Python.

usage: e2b.py URL
"""
import json
import sys
import urllib.request

URL = sys.argv[1]


def ask(method, path, body=None, **headers):
    request = urllib.request.Request(
        URL + path, None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/json", "X-API-Key": "any", **headers},
        method=method)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.read().decode()


sandbox = json.loads(ask("POST", "/sandboxes",
                         {"templateID": "code-interpreter-v1"}))["sandboxID"]
try:
    for line in ask("POST", "/execute", {"code": "print('in a sandbox'); 6 * 7"},
                    **{"E2b-Sandbox-Id": sandbox,
                       "E2b-Sandbox-Port": "49999"}).splitlines():
        print(line)
finally:
    ask("DELETE", "/sandboxes/" + sandbox)
