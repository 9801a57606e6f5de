# SPDX-License-Identifier: Apache-2.0
"""What every program here begins and ends with: its options, its seed, its TAP
and a directory of its own."""
import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback

import service
import tap


def options(doc, parts=(), program="fsd-fake"):
    """For others to be added to."""
    p = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--program", default=service.TOP + "/build/" + program)
    if parts:
        p.add_argument("parts", nargs="*", metavar="PART",
                       help=", ".join(parts))
    return p


def kill_options(doc, parts):
    """Of programs that kill what a mount consists of: on fake machines, or on real ones."""
    p = options(doc, parts)
    p.add_argument("--kills", type=int, default=100)
    p.add_argument("--real", action="store_true", help="real machines, of build/fsd")
    p.add_argument("--option", action="append", default=[],
                   help="of fsd mount; may be given more than once")
    if "--real" in sys.argv:
        p.set_defaults(program=service.TOP + "/build/fsd")
    return p


def run(p, fn):
    """fn gets the arguments, with an rng, a tap and a directory, top. Return:
    the status of the process."""
    args = p.parse_args()
    args.rng = random.Random(args.seed)
    args.tap = tap.Tap()
    args.tap.say("seed %d" % args.seed)
    args.top = tempfile.mkdtemp(prefix="fsd-fault.")
    try:
        fn(args)
    finally:
        shutil.rmtree(args.top)
    return args.tap.end()


def serve(args, sentence, svc, fn, record, clean=lambda: None):
    """A test: fn runs with the service, and what it finds is in record.findings. clean
    is called behind it, whatever has happened."""
    def test():
        try:
            svc.start()
            fn()
            record.findings += svc.stop() + svc.log_findings()
        except Exception:
            record.findings += traceback.format_exc().splitlines()
            record.findings.append("the log: " + svc.log_tail(5))
        finally:
            clean()
            svc.remove()
        return record.findings
    args.tap.run(sentence, test)
    args.tap.say(record.text())
