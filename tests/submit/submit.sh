#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# submit JOB CONFIG — see submit.py
set -e
mkdir "$1"
printf '%s\n' 'out hello' 'err oops' 'write result.txt made' 'exit 7' >"$1/code.sh"
# a builtin does not see what the close of its redirection says; cat does
printf '%s' "$2" | cat >"$1/config.json"
cat "$1/wait" "$1/stdout" "$1/output/result.txt"
