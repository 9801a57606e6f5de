#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# deps.sh PACKAGE... — installs those Debian packages that are missing, and
# says nothing when none is. The packages' index is renewed only if it must be.
set -euo pipefail

missing=()
for package in "$@"; do
	status=$(dpkg-query -W -f='${db:Status-Status}' "$package" \
		2>/dev/null) || status=
	[ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "deps: this is no Debian; install what these packages hold:" \
		"${missing[*]}" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "deps: only root can install packages; as root run:" \
		"apt-get install --no-install-recommends ${missing[*]}" >&2
	exit 1
fi

install_missing() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o DPkg::Lock::Timeout=120 \
		install --no-install-recommends "${missing[@]}"
}

echo "deps: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! install_missing >"$log" 2>&1; then
	# an index that is absent or old is the usual reason
	echo 'deps: renewing the index of packages'
	if ! { apt-get -q update && install_missing; } >"$log" 2>&1; then
		tail -n 15 "$log" >&2
		echo "deps: apt-get could not install ${missing[*]};" \
			"its last words are above" >&2
		exit 1
	fi
fi
