#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What programs leave behind as files, harmless and hostile.

load ../lib/qemu

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

@test "files that the program made are in output/, byte for byte, with modes" {
	prog code.py <<'PY'
import os
open("all", "wb").write(bytes(range(256)) * 1000)
open("empty", "w")
os.makedirs("a/b/c"); open("a/b/c/deep.txt", "w").write("ü\n")
open("run", "w").write("x"); os.chmod("run", 0o755); os.utime("run", (1, 1000000001))
open(".hidden", "w").write("h")
os.makedirs("only/dirs")
PY
	ok
	cmp <(/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)') "$MNT/$J/output/all"
	assert_equal "$(cat "$MNT/$J/output/a/b/c/deep.txt")" ü
	assert_equal "$(stat -c %s "$MNT/$J/output/empty")" 0
	assert_equal "$(stat -c %Y "$MNT/$J/output/run")" 1000000001
	[ -x "$MNT/$J/output/run" ]
	[ -e "$MNT/$J/output/.hidden" ]
	result_is "$J" '[.output[] | select(.path == "all")][0].bytes' 256000
	result_is "$J" .output_dropped 0
	absent "$J" output/code.py
}

@test "output exists after a timeout, a signal and no memory left" {
	prog code.py '{"timeout": '"$(patient 500)"'}' <<<$'open("f", "w").write("kept")\nwhile True: pass'
	ended "$J" 124 timeout
	assert_equal "$(cat "$MNT/$J/output/f")" kept
	prog code.py <<<$'import os\nopen("f", "w").write("kept")\nos.kill(os.getpid(), 11)'
	ended "$J" 139 signaled
	assert_equal "$(cat "$MNT/$J/output/f")" kept
}

@test "symlinks lead nowhere on the host" {
	prog code.py <<'PY'
import os
os.symlink("/etc/passwd", "abs"); os.symlink("../../../../../../etc/passwd", "rel")
os.symlink("loop", "loop"); os.symlink("/etc", "dir"); os.symlink("real", "fine")
open("real", "w").write("real")
os.mkdir("d"); os.symlink("/etc", "d/e")
PY
	ok
	assert_equal "$(find "$MNT/$J/output" -type l -printf '%P -> %l\n' | sort)" \
		$'fine -> real\nloop -> loop'
	run bash -c "grep -rl 'root:' '$MNT/$J/output'"
	assert_output ''
	assert_equal "$(cat "$MNT/$J/output/fine")" real
	assert_equal "$(result "$J" '[.output_left_out[].path] | sort | join(" ")')" 'abs d/e dir rel'
}

@test "a tree with links reaches the program as it is, and comes back" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p node_modules/.bin node_modules/tool
	printf '#!/usr/bin/env node\nconsole.log("tool ran")\n' >node_modules/tool/cli.js
	chmod +x node_modules/tool/cli.js
	ln -s ../tool/cli.js node_modules/.bin/tool
	job_made code.sh <<<'./node_modules/.bin/tool; mkdir v2; echo x >v2/f; ln -s v2 latest; ln -s ../v2/f v2/up; ln -s /etc v2/out'
	cp -a node_modules "$MNT/$J/"
	rsync -a node_modules/ "$MNT/$J/n2/"
	tar cf - node_modules | tar xf - -C "$MNT/$J/n2"
	go
	ok
	assert_equal "$(cat "$MNT/$J/stdout")" 'tool ran'
	assert_equal "$(cat "$MNT/$J/output/latest/f" "$MNT/$J/output/v2/up")" $'x\nx'
	assert_equal "$(result "$J" '.output[] | select(.target) | .path + " " + .target')" \
		$'latest v2\nv2/up ../v2/f'
	result_is "$J" '.output_left_out[0].reason' 'a link that leads outside of the job'
}

@test "fifos, sockets and unreadable files hang nobody" {
	prog code.py <<'PY'
import os, socket
os.mkfifo("fifo"); s = socket.socket(socket.AF_UNIX); s.bind("sock")
open("secret", "w").write("s"); os.chmod("secret", 0)
os.mkdir("locked"); open("locked/f", "w").write("l"); os.chmod("locked", 0)
open("plain", "w").write("p")
PY
	ok
	assert_equal "$(cat "$MNT/$J/output/plain")" p
	run find "$MNT/$J/output" ! -type f ! -type d
	assert_output ''
	bounded 20 cp -r "$MNT/$J/output" "$BATS_TEST_TMPDIR/out"
}

@test "a sparse file of 100 GB costs nothing and is said to be dropped" {
	prog code.py <<<$'import os\nf = open("sparse", "wb"); f.truncate(100 << 30); f.close()\nopen("small", "w").write("s")'
	[ "$(result "$J" .status)" = exited ]
	assert_equal "$(cat "$MNT/$J/output/small")" s
	[ "$(result "$J" .output_dropped)" -ge 1 ] || [ -e "$MNT/$J/output/sparse" ]
	[ "$(du -sk "$STATE/jobs" | cut -f1)" -lt 100000 ]
}

@test "past output_limit files are dropped and counted" {
	prog code.py '{"output_limit": 100000}' <<<$'for i in range(5): open("f%d" % i, "wb").write(b"x" * 40000)'
	ok
	assert_equal "$(find "$MNT/$J/output" -type f | wc -l)" 2
	result_is "$J" .output_dropped 3
}

@test "names with newlines, blanks, quotes and no UTF-8" {
	prog code.py <<'PY'
import os
for name in (b"new\nline", b" ", b"q\"'", b"\xff\xfe", b"\x01\x1b[31m", b"n" * 255, "日本".encode(), b"-rf", b"a\\b"):
    open(name, "w").write("x")
PY
	ok
	run jq -e . "$MNT/$J/result.json"
	assert_success
	[ -e "$MNT/$J/output/日本" ] && [ -e "$MNT/$J/output/ " ] && [ -e "$MNT/$J/output/-rf" ]
	bounded 20 find "$MNT/$J/output" -type f -exec cat {} + >/dev/null
	local kept
	kept=$(find "$MNT/$J/output" -type f -printf x | wc -c)
	assert_equal "$((kept + $(result "$J" .output_dropped)))" 9
}

@test "a very deep tree ends neither the guest nor the host" {
	prog code.py <<'PY'
import os
for i in range(500):
    os.mkdir("d"); os.chdir("d")
open("bottom", "w").write("b")
PY
	ended "$J" 0 exited
	bounded 30 find "$MNT/$J/output" >/dev/null || true
	bounded 30 rm -rf "$MNT/$J"
	absent . "$J"
}

@test "ten thousand tiny files come back" {
	prog code.py '{"timeout": 110}' <<'PY'
import os
for i in range(10000):
    d = "d%d" % (i // 100)
    if i % 100 == 0: os.mkdir(d)
    open("%s/f%d" % (d, i), "w").write(str(i))
PY
	ok
	assert_equal "$(find "$MNT/$J/output" -type f | wc -l)" 10000
	assert_equal "$(cat "$MNT/$J/output/d12/f1234")" 1234
	bounded 60 rm -r "$MNT/$J"
}

@test "a program that removes its own directory, code and home" {
	prog code.sh <<<$'cd /; rm -rf /home/user/* /home/user/.[a-z]*; rmdir /home/user 2>/dev/null; echo gone'
	ok gone
}

@test "the system is read-only, the user has no privilege" {
	prog code.sh <<'SH'
for d in / /etc /usr /usr/bin /bin /sbin /var /lib /root /boot /opt; do
	touch "$d/x" 2>/dev/null && echo "WROTE $d"
done
for c in "mount -t tmpfs x /mnt" "mknod /tmp/n c 1 3" "chroot / true" "unshare -m true" "dmesg" "chown 0 /tmp" "su -c true"; do
	$c >/dev/null 2>&1 </dev/null && echo "DID $c"
done
find / -xdev -perm /6000 -type f 2>/dev/null
grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status | tr -d '\t' | tr '\n' ' '
SH
	run out
	refute_output --partial WROTE
	refute_output --partial DID
	assert_line --partial 'CapPrm:0000000000000000 CapEff:0000000000000000'
	assert_line --partial NoNewPrivs:1
	assert_equal "${#lines[@]}" 1
}

@test "the system says what it says to any user: EACCES, ENOENT, EPERM, never that it is read-only" {
	prog code.py <<'PY'
import errno, os
def says(call, *args):
    try: call(*args)
    except OSError as e: print(call.__name__, args[0], errno.errorcode[e.errno])
    else: print(call.__name__, args[0], "WORKS")
for path in "/var/log/app.log", "/etc/passwd", "/new": says(open, path, "a")
for path in "/usr/local/share/nothing", "/etc/hosts": says(os.unlink, path)
for path in "/usr/x", "/x", "/usr": says(os.mkdir, path)
says(os.rename, "/etc/hosts", "/etc/x")
says(os.truncate, "/etc/hosts", 0)
says(os.chmod, "/usr/bin", 0o777)
says(os.symlink, "x", "/usr/lib/x")
print(os.access("/usr", os.W_OK), os.access("/usr", os.R_OK))
PY
	ok "$(printf '%s\n' 'open /var/log/app.log EACCES' 'open /etc/passwd EACCES' 'open /new EACCES' \
		'unlink /usr/local/share/nothing ENOENT' 'unlink /etc/hosts EACCES' \
		'mkdir /usr/x EACCES' 'mkdir /x EACCES' 'mkdir /usr EEXIST' 'rename /etc/hosts EACCES' \
		'truncate /etc/hosts EACCES' 'chmod /usr/bin EPERM' 'symlink x EACCES' 'False True')"
}

@test "names of services and protocols are known" {
	prog code.py <<'PY'
import socket
print(socket.getservbyname("http"), socket.getprotobyname("tcp"))
print(socket.getaddrinfo("localhost", "https", socket.AF_INET, socket.SOCK_STREAM)[0][4])
PY
	ok $'80 6\n(\'127.0.0.1\', 443)'
}

@test "there is no network, and a name fails fast" {
	prog code.py <<'PY'
import socket, time, os
print(os.listdir("/sys/class/net"))
t = time.monotonic()
try: socket.create_connection(("192.0.2.1", 80), 5)
except OSError as e: print(e.errno)
try: socket.getaddrinfo("example.org", 80)
except OSError as e: print("no name")
print(time.monotonic() - t < 10)
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); c = socket.create_connection(s.getsockname()); print("lo works")
PY
	ok "$(printf '%s\n' "['lo']" 101 'no name' True 'lo works')"
}

@test "-g takes files of every name out, and finds its directories in the job" {
	mkdir -p "$BATS_TEST_TMPDIR/work/sub/dir"
	cd "$BATS_TEST_TMPDIR/work" || return
	local long name names
	long=$(printf '%0250dü' 0)
	names=($'new\nline \t' $'\xff' -n ' ' '$x' '*' ... 'a"b' "$long" sub/dir/x sub/y)
	cat >prog.py <<-'PY'
		import os, sys
		print(os.path.isdir("sub/dir"), len(os.listdir("sub")))
		for path in sys.argv[1:]:
		    with open(os.fsencode(path), "wb") as f:
		        f.write(os.fsencode(path))
	PY
	local options=()
	for name in "${names[@]}"; do options+=(-g "$name"); done
	run --separate-stderr bounded 120 "$FSD" run -M "$MNT" -t 60 "${options[@]}" prog.py "${names[@]}" </dev/null
	# shellcheck disable=SC2154
	assert_equal "$output|$stderr" 'True 1|'
	for name in "${names[@]}"; do
		printf %s "$name" | cmp - "./$name"
	done
	assert_equal "$(find . -type f | wc -l)" $((${#names[@]} + 2)) # a newline is in one
}
