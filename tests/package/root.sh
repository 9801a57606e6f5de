#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# root.sh RELEASE ROOT PACKAGE... — makes a root of Debian 12 or 13 with these packages, as
# root, unless ROOT is the same already. What is essential and apt are in it anyway. It
# also leaves ROOT.apt, an apt.conf(5) by which apt finds the archives of that release.
#
# The archives are those that this host's apt is configured for; of Debian 13, as the
# image's build has them.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C TZ=UTC
umask 022

top=$(cd "$(dirname "$0")/../.." && pwd)
release=${1:?usage: root.sh RELEASE ROOT PACKAGE...}
root=$(realpath -m "${2:?usage: root.sh RELEASE ROOT PACKAGE...}")
shift 2
mkdir -p "$(dirname "$root")"

case $release in
12)
	suite=bookworm lists=/var/lib/apt/lists
	# shellcheck disable=SC2016 # expanded by apt-get
	sources=$(apt-get indextargets --format \
		'$(ORIGIN)|$(CODENAME)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' |
		sed -n 's/^Debian|bookworm\(-updates\|-security\)\?|//p' |
		grep ' main$' | sort -u)
	;;
13)
	suite=trixie lists=$top/build/image-cache/lists
	sources=$(<"$top/build/image-cache/sources.list")
	;;
*)
	echo "root.sh: the release is \"$release\"; it must be 12 or 13" >&2
	exit 2
	;;
esac

echo "$sources" >"$root.list"
cat >"$root.apt" <<EOF
Dir::Etc::sourcelist "$root.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$(realpath "$lists")";
EOF
key=$(echo "$sources $*" | sha256sum | cut -c1-64)
[ "$(cat "$root.key" 2>/dev/null)" != "$key" ] || exit 0
rm -rf "$root" "$root.key"
mmdebstrap --mode=root --format=directory --variant=apt \
	--aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --skip=update \
	--setup-hook='mkdir -p "$1/var/lib/apt/lists" "$1/var/cache/apt/archives"' \
	--setup-hook="cp -p '$(realpath "$lists")'/*_* \"\$1/var/lib/apt/lists/\"" \
	--include="$(IFS=, && echo "$*")" "$suite" "$root" - <<<"$sources" \
	>"$root.log" 2>&1 || {
	tail -n 15 "$root.log" >&2
	exit 1
}
echo "$key" >"$root.key"
