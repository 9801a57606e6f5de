# SPDX-License-Identifier: Apache-2.0
"""ragflow_client.py security|provider CHECKOUT - prints {name: [outcome, reason]}."""
import concurrent.futures
import importlib
import json
import os
import sys
import types


def package(checkout, *names):
    """Makes packages without running what their __init__ would import besides."""
    for name in names:
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(checkout, *name.split("."))]
        sys.modules[name] = module


def security(checkout):
    """As the suite's own main(): a case is right if it fails where it should."""
    package(checkout, "agent", "agent.sandbox", "agent.sandbox.tests")
    suite = importlib.import_module("agent.sandbox.tests.sandbox_security_tests_full")
    suite.TIMEOUT *= SLOW
    cases = suite.get_test_cases()
    with concurrent.futures.ThreadPoolExecutor(suite.MAX_WORKERS) as pool:
        results = list(pool.map(lambda item: suite.execute_single_test(
            item[0], item[1]["code"], item[1]["language"], item[1]["arguments"],
            item[1]["should_fail"]), cases.items()))
    found = {}
    for result in results:
        right = result.passed != result.expected_failure and not result.error
        found[result.name] = ("passed" if right else "failed",
                              result.error or result.validation_error or
                              (result.result.stderr if result.result else ""))
    return found


def check(right, what):
    if not right:
        raise AssertionError(what)


def run_python(provider):
    done = provider.execute_code(
        provider.create_instance("python").instance_id,
        "def main(a, b):\n    print('said')\n    return {'sum': a + b}", "python",
        timeout=60, arguments={"a": 1, "b": 2})
    check((done.exit_code, done.stdout) == (0, "said\n"), done)
    check(done.metadata["status"] == "success", done)
    check(done.metadata["result_present"], done)
    check(done.metadata["result_value"] == {"sum": 3}, done)
    check(done.metadata["result_type"] == "json", done)


def run_javascript(provider):
    done = provider.execute_code(
        provider.create_instance("javascript").instance_id,
        "async function main(args) { return args.list.map((x) => x * 2); }", "javascript",
        timeout=60, arguments={"list": [1, 2]})
    check(done.metadata["result_value"] == [2, 4], done)


def tell_an_exception(provider):
    done = provider.execute_code("x", "def main():\n    raise ValueError('no')", "python",
                                 timeout=60)
    check(done.exit_code == 1 and done.stdout == "", done)
    check("ValueError: no" in done.stderr, done)
    check(not done.metadata["result_present"], done)


def tell_a_time_limit(provider):
    done = provider.execute_code("x", "def main():\n    while True: pass", "python",
                                 timeout=120)
    check(done.exit_code == -124, done)
    check(done.metadata["status"] == "resource_limit_exceeded", done)


def give_artifacts(provider):
    done = provider.execute_code(
        "x", "def main():\n    open('artifacts/a.csv', 'w').write('1,2')", "python",
        timeout=60)
    check([(a["name"], a["content_b64"]) for a in done.metadata["artifacts"]] ==
          [("a.csv", "MSwy")], done)


def refuse_a_language(provider):
    try:
        provider.execute_code("x", "puts 1", "ruby", timeout=60)
    except RuntimeError as error:
        check("HTTP 422" in str(error), error)
    else:
        check(False, "ruby was taken")


def provider(checkout):
    package(checkout, "agent", "agent.sandbox", "agent.sandbox.providers")
    module = importlib.import_module("agent.sandbox.providers.self_managed")
    one = module.SelfManagedProvider()
    found = {}
    check(one.initialize({"endpoint": os.environ["GATEWAY_URL"]}), "no healthy endpoint")
    for case in (run_python, run_javascript, tell_an_exception, tell_a_time_limit,
                 give_artifacts, refuse_a_language):
        try:
            case(one)
            found[case.__name__] = ("passed", "")
        except (AssertionError, RuntimeError, TimeoutError) as error:
            found[case.__name__] = ("failed", str(error))
    return found


def first_machine(url):
    """A template may have to be made first, which no case has the time for."""
    import requests  # the environment's
    for language in ("python", "nodejs"):
        requests.post(url, timeout=300 * SLOW, json={
            "code_b64": "ZnVuY3Rpb24gbWFpbigpIHt9", "language": language})


SLOW = int(os.environ.get("SLOW", "1"))
WORDS = sys.stdout
sys.stdout = sys.stderr  # the suite prints
first_machine(os.environ["SANDBOX_API_URL"])
RESULT = {"security": security, "provider": provider}[sys.argv[1]](sys.argv[2])
print(json.dumps(RESULT), file=WORDS)
