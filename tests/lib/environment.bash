# SPDX-License-Identifier: Apache-2.0
#
# Environments that a test makes by hand: no build, no machine, no network.
#
#   ENVIRONMENTS   the directory of names and sets (default: the test's own)
#   ENVIRONMENT_ABI   what they are made for (default debian-13-amd64
#                     python-3.13 node-20)

# environment_id MANIFEST — SHA-256 over format, abi, parent, and each part's
# name and sum, every field behind its length in eight bytes.
environment_id() {
	/usr/bin/python3 -I -S - "$1" <<-'END'
		import hashlib, struct, sys
		fields, parts = ["1"], []
		for line in open(sys.argv[1]):
		    key, value = line.rstrip("\n").split(" ", 1)
		    if key in ("abi", "parent"):
		        fields.append(value)
		    elif key == "part":
		        name, _, digest = value.split(" ")
		        parts += [name, digest]
		digest = hashlib.sha256()
		for field in fields + parts:
		    digest.update(struct.pack("<Q", len(field)) + field.encode())
		print(digest.hexdigest())
	END
}

# environment_manifest DIR PARENT [NEEDED...] — writes DIR/manifest of the four
# files that are there. PARENT is an id or base.
environment_manifest() {
	local dir=$1 parent=$2 file packages id need
	shift 2
	packages=$(jq '.packages | length' "$dir/lock.json")
	{
		printf 'format 1\nenvironment -\nabi %s\nparent %s\npackages %s\n' \
			"${ENVIRONMENT_ABI:-debian-13-amd64 python-3.13 node-20}" \
			"$parent" "$packages"
		for need; do
			printf 'needs %s\n' "$need"
		done
		printf 'heap %s\n' "${ENVIRONMENT_HEAP:-0}"
		for file in layer.erofs lock.json warm.json recipe.json; do
			printf 'part %s %s %s\n' "$file" \
				"$(stat -c %s "$dir/$file")" \
				"$(sha256sum <"$dir/$file" | cut -d' ' -f1)"
		done
	} >"$dir/manifest"
	id=$(environment_id "$dir/manifest")
	sed -i "s/^environment -$/environment $id/" "$dir/manifest"
	echo "$id"
}

# environment_make NAME [TREE [WARM [PARENT]]] — a set with the files of the
# directory TREE (default: none), warm.json (a JSON text, default {}) and the
# parent of that name (default base). Prints its id. LOCK and RECIPE, if they
# are set, are the texts of its lock.json and recipe.json; NEEDS has the packages
# of the image that it needs.
#
#   mkdir -p tree/usr/lib && echo hello >tree/usr/lib/hello
#   environment_make data tree '{"env": {"A": "b"}}'
environment_make() {
	local name=$1 tree=${2:-} warm=${3:-} parent=${4:-base} top new id
	top=${ENVIRONMENTS:-$BATS_TEST_TMPDIR/environments}
	[ -n "$warm" ] || warm='{}'
	mkdir -p "$top/names" "$top/sets"
	new=$(mktemp -d "$top/sets/.new-XXXXXX")
	chmod 755 "$new"
	if [ -n "$tree" ]; then
		cp -a "$tree" "$new/tree"
	else
		mkdir "$new/tree"
	fi
	mkdir -p "$new/tree/usr/lib/fsd-environment/cache"
	printf '%s' "$warm" |
		tee "$new/warm.json" >"$new/tree/usr/lib/fsd-environment/warm.json"
	jq -r '.env // {} | to_entries[] | "\(.key)=\(.value)"' <<<"$warm" \
		>"$new/tree/usr/lib/fsd-environment/env"
	mkfs.erofs --quiet -T1735689600 -Uf5d00000-0000-4000-8000-000000000002 \
		-x-1 --all-root "$new/layer.erofs" "$new/tree" >&2 || return
	rm -r "$new/tree"
	printf '%s' "${LOCK:-{\"packages\": []\}}" >"$new/lock.json"
	printf '%s' "${RECIPE:-{\"arguments\": []\}}" >"$new/recipe.json"
	if [ "$parent" != base ]; then
		parent=$(basename "$(readlink "$top/names/$parent")")
	fi
	# shellcheck disable=SC2086
	id=$(environment_manifest "$new" "$parent" ${NEEDS:-}) || return
	rm -rf "${top:?}/sets/$id"
	mv "$new" "$top/sets/$id"
	ln -sfn "../sets/$id" "$top/names/$name"
	echo "$id"
}

# environment_image DIR [PACKAGE...] — a directory that looks like a guest image
# to the commands; no machine boots from it. Its abi is ENVIRONMENT_ABI.
environment_image() {
	local dir=$1 part
	shift
	mkdir -p "$dir"
	printf '%s 1\n' base-files "$@" >"$dir/packages.list"
	for part in rootfs.erofs vmlinux initramfs.cpio; do
		echo "$part" >"$dir/$part"
	done
	{
		printf 'format 1\nimage %064d\nkernel 6.12\nabi %s\n' 0 \
			"${ENVIRONMENT_ABI:-debian-13-amd64 python-3.13 node-20}"
		for part in rootfs.erofs vmlinux initramfs.cpio packages.list; do
			printf 'part %s %s %s\n' "$part" "$(stat -c %s "$dir/$part")" \
				"$(sha256sum <"$dir/$part" | cut -d' ' -f1)"
		done
	} >"$dir/manifest"
}
