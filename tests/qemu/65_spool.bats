#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd spool on real machines: archives, which a machine unpacks, and a program's inputs.

load ../lib/qemu
load ../lib/spool

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	S=$BATS_TEST_TMPDIR/spool
	export SPOOL_SECONDS=$JOB_SECONDS
}
teardown() {
	spools_end
	jobs_done
}

# a_project — a directory that sums up its data.
a_project() {
	mkdir -p project/sub
	cat >project/code.py <<'PY'
import os
print(sum(map(int, open("sub/data"))), os.path.islink("link"), os.access("tool.sh", os.X_OK))
PY
	seq 1 100 >project/sub/data
	printf '#!/bin/sh\n' >project/tool.sh
	chmod 755 project/tool.sh
	ln -s sub/data project/link
}

@test "an archive of each kind is unpacked by a machine and runs" {
	a_project
	spool_start
	tar -cf one.tar project
	tar -czf two.tar.gz -C project .
	tar -czf three.tgz project/code.py project/sub project/tool.sh project/link
	tar -cjf four.tar.bz2 project
	tar -cJf five.tar.xz project
	(cd project && zip -qry ../six.zip .)
	local name
	for name in *.tar* *.tgz *.zip; do
		drop_file "$name"
	done
	for name in one two three four five six; do
		comes "done/$name"
		assert_equal "$(<"$S/done/$name/stdout")" '5050 True True'
	done
	[ -f "$S/done/two/input" ]
	cmp two.tar.gz "$S/done/two/input"
	assert_equal "$(names "$S/failed")" ''
}

@test "an archive that is still being copied is tried again until it is whole" {
	a_project
	head -c 300000 /dev/urandom >project/noise
	tar -czf a.tar.gz project
	spool_start
	# by rename, so that it is taken at once, and appended to later
	head -c 200000 a.tar.gz >"$S/tmp/a.tar.gz"
	mv "$S/tmp/a.tar.gz" "$S/new/a.tar.gz"
	await becomes 60 sh -c "grep -qs later '$S'/run/*/*/tries"
	tail -c +200001 a.tar.gz >>"$(echo "$S"/run/*/*/input)"
	comes done/a
	assert_equal "$(<"$S/done/a/stdout")" '5050 True True'
}

# loses_job NAME — the mount loses the job of the archive NAME.tgz while its spool is away.
loses_job() {
	drop_file "$1.tgz"
	await becomes "$JOB_SECONDS" sh -c 'ls -d "$1"/spool-*' _ "$MNT"
	spool_kill
	rm -r "$MNT"/spool-*
	spool_start
}

@test "an archive whose job the mount has lost runs again as its own config.json says" {
	mkdir once twice
	echo 'import time; time.sleep(2)' | tee once/code.py >twice/code.py
	echo '{"retry": 1}' >twice/config.json
	tar -czf once.tgz once
	tar -czf twice.tgz twice
	spool_start
	loses_job once
	comes failed/once
	loses_job twice
	comes done/twice
	assert_equal "$(jq -r .status "$S/failed/once/result.json")" interrupted
}

@test "hostile and broken archives fail with a sentence" {
	spool_start
	/usr/bin/python3 - <<'PY'
import io, tarfile, zipfile

def tar(name, *members):
    with tarfile.open(name, "w") as t:
        for path, kind, link in members:
            m = tarfile.TarInfo(path)
            m.type, m.linkname = kind, link
            data = b"print(1)\n" if kind == tarfile.REGTYPE else b""
            m.size = len(data)
            t.addfile(m, io.BytesIO(data))

code = ("code.py", tarfile.REGTYPE, "")
tar("up.tar", ("../code.py", tarfile.REGTYPE, ""))
tar("root.tar", ("/tmp/code.py", tarfile.REGTYPE, ""))
tar("link.tar", code, ("a", tarfile.SYMTYPE, "/etc/passwd"))
tar("outlink.tar", code, ("a/b", tarfile.SYMTYPE, "../../x"))
tar("fifo.tar", code, ("pipe", tarfile.FIFOTYPE, ""))
tar("name.tar", code, ("exit_code", tarfile.REGTYPE, ""))
tar("none.tar", ("main.py", tarfile.REGTYPE, ""))
with zipfile.ZipFile("up.zip", "w") as z:
    z.writestr("../../code.py", "print(1)")
with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as z:
    with z.open("code.py", "w") as f:
        for _ in range(1 << 10):
            f.write(bytes(1 << 20))
PY
	head -c 1000 /dev/urandom >noise.tar.gz
	local name
	for name in *.tar *.zip noise.tar.gz; do
		drop_file "$name" "${name/./-}.${name#*.}"
	done
	failed up-tar "'../code.py' leads out"
	failed root-tar "'/tmp/code.py' leads out"
	failed link-tar 'leads out'
	failed outlink-tar 'leads out'
	failed fifo-tar "'pipe' is neither a file nor a directory nor a link"
	failed name-tar 'the name exit_code is taken by the job itself'
	failed none-tar 'it has no program (code.py, code.js, ...); there is main.py'
	failed up-zip "'../../code.py' leads out"
	failed noise-tar.gz 'the archive cannot be unpacked: it is no tar archive'
	failed bomb-zip 'the archive cannot be unpacked: needed more than 256 MiB (memory_mb)'
	assert_equal "$(names "$S/done")" ''
}

@test "each file of a hot folder is the input of one program" {
	cat >upper.py <<'PY'
import sys
text = open(sys.argv[-1]).read().upper()
print(text, end="")
open("out.txt", "w").write(text)
PY
	spool_start --program upper.py
	echo hello >a.txt
	drop_file a.txt
	cp a.txt "$S/new/b.txt"
	comes done/a.txt
	comes done/b.txt
	assert_equal "$(<"$S/done/a.txt/stdout")" HELLO
	assert_equal "$(<"$S/done/b.txt/output/out.txt")" HELLO
}
