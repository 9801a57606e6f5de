#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# `fsd env build` with packages made by hand: jobs in private machines. What makes
# a layer (mkfs.erofs for the guest) comes from Debian's archive, as the image does.

# shellcheck disable=SC2154 # run sets stderr

load ../lib/qemu

setup_file() {
	file_given
	/usr/bin/python3 -B "$TESTS/env/make_packages.py" "$BATS_FILE_TMPDIR/made"
	# the template that the other files have
	mkdir "$BATS_FILE_TMPDIR/state"
	ln -s "$(realpath "$STATE")" "$BATS_FILE_TMPDIR/state/fsd"
	export XDG_STATE_HOME=$BATS_FILE_TMPDIR/state FSD_IMAGE=$IMAGE
	# Root's private mounts have theirs in /var/lib/fsd: on a clean host there is none.
	[ ! -e "$STATE/shared/made" ] || {
		FSD_TEMPLATES=$(dirname "$(<"$STATE/shared/made")")
		export FSD_TEMPLATES
	}
	export MADE=$BATS_FILE_TMPDIR/made ENVIRONMENTS=$BATS_FILE_TMPDIR/env
	export FSD_ENVIRONMENTS=$ENVIRONMENTS
	place "$ENVIRONMENTS"
}

# place DIR — what the image's build knows of the archive.
place() {
	local cache=$IMAGE-cache
	mkdir -p "$1/sources/apt"
	touch "$1/sources/lock" # as a build has made the directory
	[ ! -e "$cache/lists/of" ] || {
		cp -a "$cache/lists" "$cache/sources.list" "$1/sources/apt/"
		touch "$1/sources/apt/lists/of"
	}
}

# build NAME [OPTION...] — of all three kinds.
build() {
	local name=$1
	shift
	bounded 600 "$FSD" env build "$name" "$@"
}

# templates — the directory of those that private mounts make.
templates() {
	if [ "$(id -u)" = 0 ]; then
		echo /var/lib/fsd/templates
	else
		echo "$XDG_STATE_HOME/fsd/templates"
	fi
}

# Two packages need an older version of a third.
project() {
	jq -n '{dependencies: {one: "1.0.0", two: "1.0.0", tinyjs: "1.0.0", tinyesm: "1.0.0"}}' \
		>"$BATS_FILE_TMPDIR/package.json"
	jq -n '{packages: ([["tinyjs", "1.0.0"], ["tinyesm", "1.0.0"], ["one", "1.0.0"],
			["two", "1.0.0"], ["one/node_modules/tinyjs", "0.1.0"],
			["two/node_modules/tinyjs", "0.1.0"]] |
		map({("node_modules/" + .[0]): {version: .[1]}}) | add)}' \
		>"$BATS_FILE_TMPDIR/package-lock.json"
}

all=(--debian python3-tiny --debian-dir "$BATS_FILE_TMPDIR/made/debs"
	--pypi tinywheel==1.0 --wheelhouse "$BATS_FILE_TMPDIR/made/wheels"
	--npm "$BATS_FILE_TMPDIR/package.json"
	--npm-dir "$BATS_FILE_TMPDIR/made/npm"
	--env TINY=yes)
warm=(--warm 'tiny,tinywheel,npm:tinyjs,npm:tinyesm'
	--warm-program "$BATS_FILE_TMPDIR/look.py"
	--env TINYCACHE=/var/cache/user/tiny)

# The warm program runs in the new environment: it looks at what is there, so that
# no further template has to be made.
@test 'packages of Debian, wheels and tarballs become one environment' {
	cat >"$BATS_FILE_TMPDIR/look.py" <<-'END'
		import os, subprocess, tiny, tinywheel

		def be(found, wanted):
		    if found != wanted:
		        raise ValueError("%r is not %r" % (found, wanted))

		def text(*words):
		    return subprocess.check_output(words, text=True)

		be((tiny.answer, tinywheel.answer, os.environ["TINY"]), (42, 43, "yes"))
		be(os.path.exists(tiny.__cached__), True)
		be(text("tinycmd"), "the script ran 43\n")
		be(text("node", "-p", "require('tinyjs').answer"), "44\n")
		be(text("node", "-p", "require('one').answer + require('two').answer"),
		   "olderolder\n")
		be(text("tinyjs"), "cli\n")
		be(text("npx", "--yes", "tinyjs@1"), "cli\n")
		for path in ("/usr/lib/tiny/old-place", "/node_modules/.bin/tinyjs",
		             "/usr/local/share/tinywheel"):
		    be((path, os.path.exists(path)), (path, True))
		for path in ("/usr/share/it-ran", "/node_modules/tinyjs/it-ran",
		             "/usr/share/doc/python3-tiny",
		             os.path.dirname(tiny.__file__) + "/tests"):
		    be((path, os.path.exists(path)), (path, False))
		os.makedirs(os.environ["TINYCACHE"])
		open(os.environ["TINYCACHE"] + "/list", "w").close()
	END
	project
	local usual=$BATS_TEST_TMPDIR
	ls "$(templates)" >"$usual/before" 2>/dev/null || :
	run --separate-stderr -0 build tiny "${all[@]}" "${warm[@]}"
	[[ $output == *'unpacked 2 Debian packages'* ]]
	# each step is told when it begins
	[[ $output == *'apt chooses Debian packages'*'pip chooses wheels'*'fetching what is not'*'a machine starts, to install them'*'a machine starts, to import'* ]]
	[[ $output == *'installed 2 wheels'* ]]
	[[ $output == *'imported npm:tinyesm in'* ]]
	[[ $output == *'took the layer out with its cache'* ]]
	run jq -r '.packages[] | select(.source == "debian") | .licence' \
		"$ENVIRONMENTS/names/tiny/lock.json"
	assert_output $'Expat, GPL-2+\nLGPL-2.1'
	"$FSD" env verify tiny
	# The machine that tried the layer before it had its cache left nothing: no
	# template, which is large, and no time that making it took.
	ls "$(templates)" >"$usual/after"
	assert_equal "$(comm -13 "$usual/before" "$usual/after" |
		sed -n '/^took-[a-z]*-/p')" ''
}

@test 'nothing changed: the same id, without a machine' {
	run --separate-stderr -0 build tiny "${all[@]}" "${warm[@]}" --json
	run jq -r .text <<<"$output"
	assert_output --regexp "^up to date: tiny is $(id_of tiny | cut -c1-12): [0-9]+ kB\$"
}

# id_of NAME [DIR]
id_of() {
	basename "$(readlink "${2:-$ENVIRONMENTS}/names/$1")"
}

@test 'the same packages give the same bytes, whatever the umask and zone' {
	local other=$BATS_TEST_TMPDIR/env
	place "$other"
	run --separate-stderr -0 build once "${all[@]}"
	(umask 077 && TZ=Asia/Tokyo build twice "${all[@]}" \
		--environments "$other" >/dev/null)
	assert_equal "$(id_of once)" "$(id_of twice "$other")"
}

@test 'a file that leads out of its package ends the build with its name' {
	run --separate-stderr -1 build bad --npm escaper@1.0.0 --npm-dir "$MADE/npm"
	[[ $stderr == 'fsd env: escaper-1.0.0.tgz: it has a file "'*'escaped.js", which leads out of its directory' ]]
	run --separate-stderr -1 build bad --pypi escaper==1.0 \
		--wheelhouse "$MADE/wheels"
	[[ $stderr == 'fsd env: escaper-1.0-py3-none-any.whl: it has a file "'* ]]
	[ ! -e "$ENVIRONMENTS/names/bad" ]
}

@test 'what does not fit is said before a machine is made' {
	run --separate-stderr -1 build bad --pypi onlymac==1.0 \
		--wheelhouse "$MADE/wheels"
	assert_equal "$stderr" "fsd env: onlymac 1.0: no wheel for python 3.13 on linux x86-64 in $MADE/wheels; 1 other is there: cp313-cp313-macosx_11_0_arm64"
	printf 'tinydep==0.5 --hash=sha256:%064d\n' 0 >"$BATS_TEST_TMPDIR/r.txt"
	run --separate-stderr -1 build bad \
		--requirements "$BATS_TEST_TMPDIR/r.txt" --wheelhouse "$MADE/wheels"
	[[ $stderr == *'its sha256 is not what the requirements say' ]]
	run --separate-stderr -1 build bad --debian python3-tiny \
		--debian-dir "$MADE/npm"
	[[ $stderr == *'has no file that ends in .deb' ]]
}

@test 'a module that cannot be imported is named, with the remedy' {
	run --separate-stderr -1 build bad --debian python3-tiny \
		--debian-dir "$MADE/debs" --exclude tiny-base --warm tiny
	assert_equal "$stderr" "fsd env: import tiny failed in the machine: ModuleNotFoundError: No module named 'tinybase'; add it or take tiny off --warm"
}
