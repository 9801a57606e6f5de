#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# template.sh STATE [OPTION...] — makes the first machine's template in a state
# directory, if there is none of this image: the tests on real machines begin
# with copies. OPTIONS are those of `fsd mount`.
set -euo pipefail
cd "$(dirname "$0")/../.."

state=${1:?template.sh STATE [OPTION...]}
shift
mnt=$(mktemp -d)
finish() {
	! mountpoint -q "$mnt" || build/fsd umount --now "$mnt" || true
	rmdir "$mnt"
}
trap finish EXIT
trap 'exit 1' TERM INT

mkdir -p "$state"
build/fsd mount --daemon --image "${FSD_IMAGE:-build/image}" \
	--accel "${FSD_ACCEL:-auto}" --state "$state" --pool 0 --fork no \
	"$@" "$mnt"
mkdir "$mnt/first"
echo 'echo ready' >"$mnt/first/code.sh"
echo '{}' >"$mnt/first/config.json"
cat "$mnt/first/wait" "$mnt/first/error"
[ "$(cat "$mnt/first/stdout")" = ready ]
rm -r "$mnt/first"
