#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# template.sh STATE [OPTION...] — makes the first machine's template in a state
# directory, if there is none of this image: the tests on real machines begin
# with copies. OPTIONS are those of `fsd mount`. Without them the very first one is a
# copy of what `fsd template` makes, which a test looks at as well: STATE/shared/made
# says where it is.
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
shared=$PWD/$state/shared
if [ $# = 0 ] && [ ! -d "$state/templates" ]; then
	mkdir -p "$shared" "$state/templates"
	build/fsd template --image "${FSD_IMAGE:-build/image}" \
		--accel "${FSD_ACCEL:-auto}" "$shared/all" >"$shared/made"
	made=$(cat "$shared/made")
	[ "$(dirname "$made")" = "$shared/all" ]
	cp -a --sparse=always "$made" "$state/templates/"
	chmod -R go= "$state/templates"
	chmod u+w "$state"/templates/*/{ram,meta} # as when a mount makes it
fi
build/fsd mount --daemon --image "${FSD_IMAGE:-build/image}" \
	--accel "${FSD_ACCEL:-auto}" --state "$state" --pool 0 --fork no \
	"$@" "$mnt"
mkdir "$mnt/first"
printf '#!/bin/sh\necho ready\n' >"$mnt/first/code"
echo '{}' >"$mnt/first/config.json"
cat "$mnt/first/wait" "$mnt/first/error"
[ "$(cat "$mnt/first/stdout")" = ready ]
# That of another image would not serve.
grep -q '^fsd_templates_made_total 0' "$mnt/.fsd/stats" || rm -rf "$shared"
rm -r "$mnt/first"
