#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `fsd env` on sets that the tests make by hand: no build, no machine.
# shellcheck disable=SC2154 # stderr is set by run

load ../lib/common
load ../lib/environment

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	ENVIRONMENTS=$PWD/environments
	environment_image image libc6 python3
	export FSD_IMAGE=$PWD/image FSD_ENVIRONMENTS=$ENVIRONMENTS
}

env_() {
	bounded 30 "$FSD" env "$@"
}

# package SOURCE NAME VERSION LICENCE — one of lock.json.
package() {
	printf '{"source": "%s", "name": "%s", "version": "%s", "licence": "%s", "file": "%s.x", "sha256": "%064d"}' \
		"$1" "$2" "$3" "$4" "$2" 0
}

# data — an environment "data" of two packages, and its child "stats".
data() {
	mkdir -p tree/usr/lib
	echo hello >tree/usr/lib/hello
	LOCK="{\"packages\": [$(package debian python3-numpy 2.2.4 BSD-3), $(package npm lodash 4.17.21 MIT)]}" \
		RECIPE='{"arguments": ["--debian", "python3-numpy", "--env", "A=two words"]}' \
		NEEDS='libc6 python3' environment_make data tree \
		'{"python": ["numpy"], "node": ["lodash"], "env": {"A": "two words"}}'
	environment_make stats '' '' data >/dev/null
}

# bats test_tags=smoke
@test "list names each environment, its id, parent, packages, size, state and warm modules" {
	local id
	run --separate-stderr env_ list
	assert_success
	assert_line --index 0 --regexp '^NAME +ID +PARENT +PACKAGES +SIZE +STATE +WARM$'
	assert_line --index 1 --regexp '^base +- +- +- +- +ready +-$'
	assert_equal "${#lines[@]}" 2
	id=$(data)
	run --separate-stderr env_ list
	assert_success
	assert_line --index 2 --regexp "^data +${id:0:12} +base +2 +4.1 kB +ready +numpy, npm:lodash$"
	assert_line --index 3 --regexp '^stats +[0-9a-f]{12} +data +0 +[0-9.]+ kB +ready +-$'
	assert_equal "$stderr" ''
	run env_ list --json
	assert_equal "$(jq -r .id <<<"${lines[0]}")" "$id"
	assert_equal "$(jq -c '[.name, .parent, .packages, .bytes, .state, .warm]' <<<"${lines[0]}")" \
		'["data","base",2,4096,"ready","numpy, npm:lodash"]'
}

@test "list says which are stale and which are damaged, and why" {
	ENVIRONMENT_ABI='debian-12-amd64 python-3.11' environment_make old
	NEEDS=libfoo environment_make foo
	environment_make hurt '' '{"python": ["os"]}'
	chmod u+w environments/names/hurt/layer.erofs
	echo >>environments/names/hurt/layer.erofs
	ln -s nowhere environments/names/lost
	run --separate-stderr env_ list
	assert_success
	assert_line --regexp '^old .* stale '
	assert_line --regexp '^foo .* stale '
	assert_line --regexp '^hurt .* damaged '
	assert_line --regexp '^lost +- .* damaged '
	assert_equal "$(grep '^fsd env: old' <<<"$stderr")" \
		'fsd env: old: it was made for debian-12-amd64 and this image has debian-13-amd64: run fsd env build old'
	assert_equal "$(grep '^fsd env: foo' <<<"$stderr")" \
		'fsd env: foo: it needs libfoo and this image has none: run fsd env build foo'
	assert_equal "$(grep '^fsd env: hurt' <<<"$stderr")" \
		'fsd env: hurt: layer.erofs has 4097 bytes, its manifest says 4096'
	run bounded 30 "$FSD" image verify
	assert_success
	assert_line 'environment old does not fit: it was made for debian-12-amd64 and this image has debian-13-amd64: run fsd env build old'
	assert_line --partial 'environment hurt is damaged: layer.erofs has'
	run bounded 60 "$FSD" doctor
	assert_line --regexp '^env +note +foo is stale: .*run fsd env build foo; hurt is damaged: .*: run fsd env build hurt; lost'
}

@test "what fits the image is said to fit, by image verify and doctor" {
	data >/dev/null
	run bounded 30 "$FSD" image verify
	assert_success
	assert_line 'environment data fits'
	run bounded 60 "$FSD" doctor
	assert_line --regexp '^env +ok +2 environments are whole and fit the image$'
}

@test "show tells the manifest, the packages, and the command that makes it again" {
	local id
	id=$(data)
	run env_ show data
	assert_success
	assert_line "id          $id"
	assert_line 'abi         debian-13-amd64 python-3.13 node-20'
	assert_line 'needs       libc6 python3'
	assert_line "env         'A=two words'"
	assert_line --regexp '^debian +python3-numpy +2.2.4 +BSD-3$'
	assert_line --regexp '^npm +lodash +4.17.21 +MIT$'
	assert_line "  fsd env build data --debian python3-numpy --env 'A=two words'"
	run env_ show --json data
	assert_equal "$(jq -r '.lock.packages[1].name, .warm.env.A, .recipe.arguments[0]' <<<"$output")" \
		$'lodash\ntwo words\n--debian'
}

@test "a name that is not there is told, with those that are" {
	run env_ show dat
	assert_equal "$status" 1
	assert_output 'fsd env: there is no environment "dat"; there is none yet'
	data >/dev/null
	run env_ verify dat
	assert_output 'fsd env: there is no environment "dat"; there are data, stats'
	run env_ rm base
	assert_equal "$status" 1
	assert_output --partial 'base is what every machine has'
	run env_ dance
	assert_equal "$status" 2
	assert_output 'fsd env: there is no command "dance"; `fsd help env` lists them'
	run env_ show
	assert_equal "$status" 2
	assert_line 'usage: fsd env show [OPTIONS] NAME'
}

@test "verify finds a flipped byte in each part" {
	local part
	data >/dev/null
	run env_ verify
	assert_success
	assert_line --regexp '^data [0-9a-f]{12}: every part is as its manifest says$'
	assert_line --regexp '^stats '
	for part in layer.erofs lock.json warm.json recipe.json manifest; do
		cp -a environments kept
		chmod u+w environments/names/data/$part
		printf '\1' | dd of=environments/names/data/$part conv=notrunc \
			bs=1 seek=1 status=none
		run env_ verify
		assert_equal "$part $status" "$part 1"
		assert_output --regexp "data is damaged: .*$part.*run fsd env build data|data is damaged: manifest"
		# its child stands on the layer
		case $part in
		layer.erofs | manifest) assert_output --partial 'stats is damaged' ;;
		*) assert_output --partial 'stats' ;;
		esac
		rm -r environments
		mv kept environments
	done
}

@test "rm refuses the parent of another, and frees what nothing needs" {
	data >/dev/null
	run env_ rm data
	assert_equal "$status" 1
	assert_output 'fsd env: "data" is the parent of "stats"; remove that first'
	run env_ rm stats
	assert_success
	assert_output ''
	run env_ rm data
	assert_success
	assert_equal "$(find environments/names environments/sets -mindepth 1)" ''
}

@test "clean removes downloads and sets that have lost their name" {
	data >/dev/null
	mkdir environments/sources
	printf 123 >environments/sources/"$(printf %064d 0)"
	mkdir environments/sets/.new-0123456789abcdef
	rm environments/names/stats
	run env_ clean
	assert_success
	assert_output --regexp "^removed 1 downloads and 1 sets without a name, [0-9.]+ kB, in $ENVIRONMENTS$"
	assert_equal "$(ls -A environments/sets | wc -l)" 1
	run env_ verify
	assert_success
}

# mark_sources DIR — as a build does.
mark_sources() {
	/usr/bin/python3 -IB -c 'import sys; sys.path[:0] = [sys.argv[1]]
import sources; sources.hold(sys.argv[2]); sources.new_work(sys.argv[2])' \
		"$BATS_TEST_DIRNAME/../../fsd/env" "$1"
}

@test "clean removes what builds have made in sources, and nothing of the user's" {
	local sum
	sum=$(printf %064d 0)
	mkdir -p environments/{names,sets}
	mark_sources environments/sources
	cd environments/sources
	mkdir -p apt/lists .build-backup12/x .build-notes
	touch apt/lists/of "$sum" "$sum.123" "$sum.old" built npm.index main.c
	cp -a .build-???????? ..
	mkdir ../sets/.new-backup ../sets/.old-0123
	ln -s elsewhere ../names/.new-0123456789abcdef
	run env_ clean
	assert_success
	assert_equal "$(names .)" ".build-backup12 .build-notes $sum.old lock main.c"
	assert_equal "$(names ../sets)" '.new-backup .old-0123'
	assert_equal "$(names ../names)" .new-0123456789abcdef
}

@test "clean of a directory whose sources no build has made leaves all but downloads" {
	local sum
	sum=$(printf %064d 0)
	mkdir -p project/sources/apt
	touch project/sources/{main.c,built,apt/x,lock,"$sum"}
	run env_ clean --environments project
	assert_success
	assert_equal "$(names project/sources)" 'apt built lock main.c'
	assert_equal "$(names project/sources/apt)" x
}

@test "build makes an imported environment again of words that the command line takes, or refuses" {
	LOCK='{"packages": []}' RECIPE='{"arguments": ["--pypi", "requests==2.32.3"],
		"pypi": ["--extra-index-url http://127.0.0.1:9/${PIP_INDEX_URL}/", "x==1"]}' \
		environment_make made >/dev/null
	env_ export made hostile.env >/dev/null
	env_ import hostile.env >/dev/null
	run -1 --separate-stderr env_ build hostile
	# shellcheck disable=SC2016 # pip's
	assert_equal "$stderr" 'fsd env: the recipe of "hostile": --pypi is "--extra-index-url http://127.0.0.1:9/${PIP_INDEX_URL}/"; it must be NAME==VER, as pandas==2.2.3'
	RECIPE='{"pypi": 5}' LOCK='{"packages": []}' environment_make odd >/dev/null
	run -1 --separate-stderr env_ build odd
	assert_equal "$stderr" 'fsd env: the recipe of "odd": "pypi" is a number; it must be a list'
}

@test "export and import give the same environment, by a file and by a pipe" {
	local id
	id=$(data)
	run env_ export data data.env.zst
	assert_success
	assert_output --regexp "^data ${id:0:12}: [0-9.]+ (bytes|kB)$"
	assert_equal "$(zstd -dcq data.env.zst | tar tf -)" \
		$'manifest\nlock.json\nwarm.json\nrecipe.json\nlayer.erofs'
	assert_equal "$(zstd -dcq data.env.zst | tar xOf - manifest)" \
		"$(cat environments/names/data/manifest)"
	export FSD_ENVIRONMENTS=$PWD/second
	run --separate-stderr env_ import data.env.zst
	assert_success
	assert_output "data ${id:0:12}"
	run env_ show data
	assert_line "id          $id"
	env_ verify data
	FSD_ENVIRONMENTS=$ENVIRONMENTS env_ export stats - | env_ import - --name more
	run env_ list
	assert_line --regexp '^more +[0-9a-f]{12} +data '
}

@test "import says what is wrong with an archive, and leaves nothing" {
	data >/dev/null
	env_ export data data.env
	zstd -dcq data.env >tar
	export FSD_ENVIRONMENTS=$PWD/second
	# what GNU tar makes of the five files is as good
	mkdir five
	tar xf tar -C five
	tar -C five --format=ustar -cf again manifest lock.json warm.json \
		recipe.json layer.erofs
	zstd -q again -o again.env
	run env_ import again.env
	assert_success
	env_ rm again
	refused() { # SENTENCE FILE...
		tar -C five --format=ustar -cf bad "${@:2}"
		zstd -qf bad -o bad.env
		run env_ import bad.env
		assert_equal "$status" 1
		assert_output --partial "$1"
		assert_equal "$(find second/names second/sets -mindepth 1)" ''
	}
	cp five/manifest five/more
	refused 'something stands behind layer.erofs' manifest lock.json \
		warm.json recipe.json layer.erofs more
	refused 'it has "warm.json" where "lock.json" should be' manifest warm.json \
		lock.json recipe.json layer.erofs
	refused 'it ends in layer.erofs, too early' manifest lock.json warm.json \
		recipe.json
	refused 'it has "../x" where "manifest" should be' --transform \
		's,^manifest,../x,' -P manifest
	ln -sf /etc/passwd five/lock.json
	refused 'lock.json is no plain file' manifest lock.json
	rm five/lock.json
	echo '{"packages": []}' >five/lock.json
	refused 'lock.json has 17 bytes, its manifest says' manifest lock.json \
		warm.json recipe.json layer.erofs
	head -c 300 data.env >cut.env
	run env_ import cut.env
	assert_equal "$status" 1
	assert_output --partial 'cut.env: it ends too early'
	run env_ import tar
	assert_output --partial 'it is no zstd archive'
}

@test "an import that is killed leaves nothing but what the next one removes" {
	local pid
	data >/dev/null
	env_ export data data.env
	export FSD_ENVIRONMENTS=$PWD/second
	mkfifo pipe
	"$FSD" env import - --name data <pipe >out 2>&1 3>&- &
	pid=$!
	exec 9>pipe
	head -c 400 data.env >&9
	bounded 20 bash -c 'until compgen -G "second/sets/.new-*" >/dev/null; do :; done'
	kill -KILL $pid
	exec 9>&-
	wait $pid || true
	assert_equal "$(find second/sets second/names -mindepth 1 -maxdepth 1 -name '[^.]*')" ''
	run env_ import data.env
	assert_success
	assert_equal "$(find second/sets -mindepth 1 -maxdepth 1 | wc -l)" 1
	env_ verify
}

@test "a child does not come before its parent" {
	data >/dev/null
	env_ export stats stats.env
	export FSD_ENVIRONMENTS=$PWD/second
	run env_ import stats.env
	assert_equal "$status" 1
	assert_output --regexp 'stats.env: its parent [0-9a-f]{12} is not here, or is damaged; import or build that first'
}

@test "names: one is needed with a pipe, and languages' are refused" {
	data >/dev/null
	env_ export data data.env
	run bash -c "'$FSD' env import - <data.env"
	assert_equal "$status" 2
	assert_output 'fsd env: standard input has no name; give one by --name'
	run env_ import data.env --name python
	assert_equal "$status" 2
	assert_output 'fsd env: "python" is the name of a language; choose another name'
	cp data.env 'Big name.env'
	run env_ import 'Big name.env'
	assert_equal "$status" 2
	assert_output --partial '"Big name" is no name of an environment; it has 1 to 64 characters'
	run env_ export --with-sources data -
	assert_equal "$status" 2
	assert_output 'fsd env: --with-sources writes beside a file, and - is none; name a file'
}

@test "an import that does not fit the image says so" {
	data >/dev/null
	env_ export data data.env
	ENVIRONMENT_ABI='debian-13-amd64 python-3.14' environment_image image
	FSD_ENVIRONMENTS=$PWD/second run env_ import data.env
	assert_success
	assert_line 'fsd env: data is stale here: it was made for python-3.13 and this image has python-3.14: run fsd env build data'
}

@test "export --with-sources copies the downloads, and names one that is missing" {
	local sum
	mkdir -p environments/sources
	printf 'a wheel' >file
	sum=$(sha256sum <file | cut -d' ' -f1)
	LOCK="{\"packages\": [$(package pypi x 1 MIT | sed "s/0\{64\}/$sum/")]}" \
		environment_make data
	run env_ export --with-sources data one.env
	assert_equal "$status" 1
	assert_output --partial "the download x.x (${sum:0:12}) of x: No such file"
	cp file "environments/sources/$sum"
	run env_ export --with-sources data two.env
	assert_success
	assert_equal "$(cat "two.env.sources/$sum")" 'a wheel'
}

@test "a user's own environments are read first, beside the image's" {
	unset FSD_ENVIRONMENTS
	environment_make data '' '{"python": ["host"]}'
	environment_make shared
	mkdir -p home/fsd
	(ENVIRONMENTS=$PWD/home/fsd/environments &&
		environment_make data '' '{"python": ["own"]}')
	export XDG_DATA_HOME=$PWD/home
	run env_ list
	assert_line --regexp '^data .* own$'
	assert_line --regexp '^shared '
	run env_ list --environments "$ENVIRONMENTS"
	assert_line --regexp '^data .* host$'
	run env_ rm data
	assert_success
	run env_ list
	assert_line --regexp '^data .* host$'
}

@test "help and completion know the commands of env" {
	data >/dev/null
	completed() {
		bounded 20 "$FSD" complete $# fsd "$@" | LC_ALL=C sort | xargs
	}
	assert_equal "$(completed env ex)" export
	assert_equal "$(completed env show '')" 'data stats'
	assert_equal "$(completed env export --)" '--environments --help --with-sources'
	assert_equal "$(completed env rm d)" data
	run bounded 20 "$FSD" help env
	assert_line --regexp '^  fsd env list +list environments'
	run bounded 20 "$FSD" env import --help
	assert_line 'usage: fsd env import [OPTIONS] FILE|-'
	assert_line --regexp '^  --name NAME '
}
