#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh KILLS — the long form of everything but the soak, with so many kills.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

kills=${1:?run.sh KILLS}
status=0
parts=("kills --kills $kills" "netkills --kills $kills" "calls --runs $kills" "crash --states $kills"
	"batch --kills $kills" "spool --kills $kills" "damage --runs $((kills / 10 + 1))" "chaos --seconds $((kills / 10 + 1))")
[ ! -e "${FSD_IMAGE:-build/image}/manifest" ] || parts+=("machines --kills 20")
for part in "${parts[@]}"; do
	read -ra words <<<"$part"
	echo "### ${words[0]}"
	/usr/bin/python3 -B "tests/fault/${words[0]}.py" "${words[@]:1}" || status=1
done
exit $status
