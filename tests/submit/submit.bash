#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# submit JOB CONFIG — see submit.py. It waits by looking for exit_code.
set -e
mkdir "$1"
cat >"$1/code.sh" <<'END'
out hello
err oops
write result.txt made
exit 7
END
cat >"$1/config.json" <<<"$2"
until [[ -e $1/exit_code ]]; do :; done
printf '%s\n' "$(<"$1/exit_code")" "$(<"$1/stdout")" "$(<"$1/output/result.txt")"
