#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Names, what is refused, jobs of many files, and what is no writing: with the
# programs that people already use.

load ../lib/tools

# --- names --------------------------------------------------------------------

# bats test_tags=smoke
@test "jobs with blanks, quotes, emoji and a leading dash run like any other" {
	local name n=0
	for name in 'two words' "it's" 'say "hi"' '🙂 job' '-r' '--help' '$HOME' '*' 'a;b' 'ünï' '#x' '%s'; do
		n=$((n + 1))
		mkdir -- "$MNT/$name"
		echo "out $n" >"$MNT/$name/code.sh"
		echo '{}' >"$MNT/$name/config.json"
		once "$name" "$n"
		assert_equal "$(result "$name" .job)" "$name"
	done
	(cd "$MNT" && cp -r -- -r copy)
	once copy 5
	(cd "$MNT" && rm -r -- -r --help '*')
	absent . -r
	exists . 'two words'
}

@test "files with such names reach the program, through cp, rsync and tar" {
	mkdir src
	local name names=('two words' "it's" '"q"' '-n' '$(x)' '*' 'a\b')
	for name in "${names[@]}"; do
		printf '%s\n' "$name" >"src/$name"
	done
	echo files >src/code.sh
	printf '{"inputs": %s}' "$(printf '%s\n' "${names[@]}" | jq -R . | jq -s .)" >src/config.json
	cp -r src "$MNT/a"
	rsync -a src/ "$MNT/b/"
	mkdir "$MNT/c"
	tar c -C src . | tar x -C "$MNT/c"
	local job
	for job in a b c; do
		job_wait $job
		for name in "${names[@]}"; do
			assert_equal "$(cat -- "$MNT/$job/$name")" "$name"
			run grep -cF -e "$name $((${#name} + 1)) 644" "$MNT/$job/stdout"
			assert_output 1
		done
		assert_equal "$(queued_count $job)" 1
	done
}

@test "a job's name has no control characters; a file's name has any bytes, and a log has one line for it" {
	local bad=$'new\nline' name
	run mkdir "$MNT/$bad"
	assert_failure
	last_error_says 'control characters'
	mkdir "$MNT/a" src
	for name in "$bad" $'tab\there' $'esc\e' $'caf\xe9' $'\x93\xfa\x96{'; do
		echo "$name" >"src/$name"
	done
	cp -r src "$MNT/a/one"
	rsync -a src/ "$MNT/a/two/"
	tar c src | tar x -C "$MNT/a"
	diff -r src "$MNT/a/one"
	diff -r src "$MNT/a/two"
	diff -r src "$MNT/a/src"
	fails EPERM mknod "$MNT/a/$bad" c 1 3
	assert_equal "$(wc -l <"$MNT/.fsd/last_error")" 1
	job_put a code.sh $'files\nwrite '"caf"$'\xe9'' x'
	job_put a config.json '{}'
	job_wait a
	run grep -cF "one/caf"$'\xe9' "$MNT/a/stdout"
	assert_output 1
	assert_equal "$(cat "$MNT/a/output/caf"$'\xe9')" x
	assert_equal "$(result a '.output[0] | .path + " " + .path_encoding')" 'caf%E9 percent'
	cp -r "$MNT/a" "$MNT/b"
	job_wait b
	rm -r "$MNT/a" "$MNT/b"
}

# --- what is refused ----------------------------------------------------------

@test "what is too long or too deep is refused with a sentence, by every tool" {
	local long deep=$MNT/a tool
	mkdir "$MNT/a"
	long=$(printf 'n%.0s' {1..256})
	for tool in touch mkdir 'cp /dev/null' 'mv plain'; do
		: >plain
		# shellcheck disable=SC2086
		fails ENAMETOOLONG $tool "$MNT/a/$long"
		assert_equal "$(cat "$MNT/.fsd/last_error")" \
			"a: a file's name is 1 to 255 bytes"
		fails EPERM touch "$MNT/x"
	done
	touch "$MNT/a/${long:1}"
	fails ENAMETOOLONG mkdir "$MNT/$long"
	last_error_says "a job's name is 1 to 200 bytes"
	for _ in {1..64}; do
		deep+=/d
	done
	mkdir -p "$deep"
	touch "$deep/../f"
	for tool in touch mkdir 'cp /dev/null' "mv $deep/../f"; do
		# shellcheck disable=SC2086
		fails ENAMETOOLONG $tool "$deep/x"
		last_error_says 'a: a path in a job has at most 64 names'
		fails EPERM touch "$MNT/x"
	done
}

@test "mkfifo, mknod and sockets are refused with EPERM and a sentence" {
	mkdir "$MNT/a"
	fails EPERM mkfifo "$MNT/a/fifo"
	last_error_says 'only files and directories'
	fails EPERM mknod "$MNT/a/null" c 1 3
	run /usr/bin/python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$MNT/a/s"
	assert_failure
	assert_output --partial 'not permitted'
	assert_equal "$(find "$MNT/a" -type p -o -type s -o -type c)" ''
}

@test "ln, cp -l and links that lead outside are refused with EPERM and say what to do instead" {
	mkdir "$MNT/a"
	job_put a data x
	fails EPERM ln -s ../data "$MNT/a/link"
	last_error_says 'Copy the file'
	fails EPERM ln "$MNT/a/data" "$MNT/a/hard"
	last_error_says 'copy the file'
	fails EPERM cp -l "$MNT/a/data" "$MNT/a/hard"
	fails EPERM cp -s "$MNT/a/data" "$MNT/a/soft" # by its whole path
	assert_equal "$(find "$MNT/a" -name hard -o -name soft -o -name link)" ''
}

@test "a virtual file is nobody's to write with any tool while the job runs or after" {
	job_run a $'out x\nexit 3'
	local file
	for file in stdout exit_code result.json state log; do
		fails EPERM cp /etc/hostname "$MNT/a/$file"
		fails EPERM dd status=none if=/dev/zero count=1 of="$MNT/a/$file" conv=notrunc
		run tee -a "$MNT/a/$file" <<<x
		assert_failure
		run sed -i s/x/y/ "$MNT/a/$file"
		assert_failure
		run truncate -s 0 "$MNT/a/$file"
		last_error_says virtual
	done
	ended a 3 exited
	stdout_is a x
	assert_equal "$(queued_count a)" 1
}

@test "setfattr, setfacl and chattr are refused without harm" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	run setfattr -n user.x -v y "$MNT/a/code.sh"
	assert_failure
	run setfacl -m u:1:r "$MNT/a/code.sh"
	assert_failure
	run cp --preserve=all "$MNT/a/code.sh" "$MNT/a/copy"
	assert_success
	rm "$MNT/a/copy"
	job_put a config.json '{}'
	once a x
}

# --- jobs of many files -------------------------------------------------------

@test "inputs hold the start back until a slow copy has ended" {
	mkdir "$MNT/a"
	job_put a code.sh 'show big'
	job_put a config.json '{"inputs": ["big"]}'
	{
		head -c 100000 /dev/zero | tr '\0' x
		idle a >&2
		printf end
	} | dd status=none of="$MNT/a/big" bs=4096
	job_wait a
	assert_equal "$(tail -c 3 "$MNT/a/stdout")" end
	assert_equal "$(stat -c %s "$MNT/a/stdout")" 100003
}

@test "a draft's name holds the start back whatever comes in which order" {
	mkdir "$MNT/.a"
	job_put .a config.json '{}'
	job_put .a code.sh 'show late'
	idle .a
	job_put .a late 'too late otherwise'
	mv "$MNT/.a" "$MNT/a"
	once a 'too late otherwise'
}

@test "twenty jobs that are prepared and submitted at once by xargs run once each" {
	local i
	seq 20 | xargs -P 4 -n 1 sh -c '
		mkdir "$MNT/.j$1" && echo "out $1" >"$MNT/.j$1/code.sh" &&
		echo "{}" >"$MNT/.j$1/config.json" && mv "$MNT/.j$1" "$MNT/j$1"' sh
	for i in {1..20}; do
		once "j$i" "$i"
	done
}

@test "find -exec makes a job of every program it finds" {
	mkdir progs
	local i
	for i in 1 2 3; do
		echo "out $i" >"progs/p$i.sh"
	done
	find progs -name '*.sh' -exec sh -c 'for f; do
		j=$MNT/$(basename "$f" .sh)
		mkdir "$j" && cp "$f" "$j/code.sh" && echo "{" "}" >"$j/config.json"
	done' sh {} +
	for i in 1 2 3; do
		once "p$i" "$i"
	done
}

@test "a job of 500 small files in 50 directories arrives whole by tar and by cp" {
	mkdir src
	local d f
	for d in {1..50}; do
		mkdir "src/d$d"
		for f in {1..10}; do
			echo "$d.$f" >"src/d$d/f$f"
		done
	done
	echo files >src/code.sh
	mkdir "$MNT/.a"
	tar c -C src . | tar x -C "$MNT/.a"
	cp -r src "$MNT/.b"
	local job
	for job in a b; do
		job_put ".$job" config.json '{}'
		mv "$MNT/.$job" "$MNT/$job"
		job_wait $job
		assert_equal "$(grep -c '^d.*/f' "$MNT/$job/stdout")" 500
		diff -r src "$MNT/$job" | grep -v '^Only in .*/[ab]: ' >rest || true
		assert_equal "$(cat rest)" ''
	done
}

# --- what is no writing -------------------------------------------------------

@test "touch, chmod, an open for append and an empty dd are no new config" {
	job_run a 'out x'
	touch "$MNT/a/config.json"
	chmod 600 "$MNT/a/config.json"
	: >>"$MNT/a/config.json"
	dd status=none if=/dev/null of="$MNT/a/config.json" conv=notrunc
	cat "$MNT/a/config.json" >/dev/null
	touch "$MNT/a/code.sh"
	once a x
}

@test "rsync --delete over a finished job takes the results, and a new run brings them back" {
	source_tree
	printf 'show lib/deep/data\nwrite d/f x\n' >src/code.sh
	rsync -a src/ "$MNT/a/"
	once a payload
	run rsync -a --delete src/ "$MNT/a/"
	assert_success
	assert_output ''
	absent a stdout
	state_is a 'done'
	printf '{"inputs": ["lib/deep/data"], "timeout": 9}\n' >src/config.json
	rsync -a --delete src/ "$MNT/a/"
	assert_equal "$(job_wait a)" 0
	stdout_is a payload
	assert_equal "$(cat "$MNT/a/output/d/f")" x
	assert_equal "$(queued_count a)" 2
}

@test "rsync -n says what it would do and does nothing" {
	source_tree
	mkdir "$MNT/a"
	run rsync -ain src/ "$MNT/a/"
	assert_output --partial code.sh
	absent a code.sh
	idle a
}
