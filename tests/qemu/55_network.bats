#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "network" on real machines: a helper in the machine, a relay and the door, between two
# network namespaces of the test's own (tests/network/world.py). Nothing leaves them.

load ../lib/qemu
load ../lib/network

HOSTILE=$BATS_TEST_DIRNAME/../hostile
POLICY='{"allow": ["*:*", "10.9.9.1:*", "93.184.216.10:*"], "reach": ["10.9.9.1"], "ca": "ca.pem"}'

setup_file() {
	world_up
	policy "$POLICY"
	MNT=$WORLD/mnt
	file_setup --fork no --network "$WORLD/policy.json"
}
teardown_file() {
	file_teardown
	world_down
}
teardown() { jobs_done; }

# seen FILTER VALUE — what result.json of $J says of its network.
seen() {
	assert_equal "$(result "$J" ".network | $1")" "$2"
}

@test "a name of a rule is reached by urllib over https, and result.json has the connection" {
	prog code.py '{"network": ["example.test"]}' <<'PY'
import urllib.request
print(urllib.request.urlopen("https://example.test/hello").read().decode(), end="")
PY
	ok 'hello from example.test'
	seen '.connections[0] | [.host, .port, .address, .verdict] | join(" ")' 'example.test 443 93.184.216.10 ok'
	seen '.connections[0].received > 500 and .received > 500' true
	assert grep -q 'network: example.test:443 (93.184.216.10) open' "$MNT/$J/log"
	assert grep -q 'network: example.test:443 (93.184.216.10) closed after' "$MNT/$J/log"
}

@test "fetch of Node and /dev/tcp of bash reach servers without settings" {
	prog code.js '{"network": ["example.test"], "timeout": '"$(patient 60000)"'}' <<'JS'
const answer = await fetch("https://example.test/hello");
process.stdout.write(await answer.text());
JS
	ok 'hello from example.test'
	prog code.sh '{"network": ["other.test:81"]}' <<'SH'
exec 3<>/dev/tcp/other.test/81
echo echoed >&3
read -r line <&3
echo "$line"
SH
	ok echoed
}

@test "a name that no rule has does not exist, a port that no rule has is refused at once" {
	prog code.py '{"network": ["example.test:80"]}' <<'PY'
import socket
try:
    socket.getaddrinfo("other.test", 80)
except socket.gaierror as e:
    print(e.strerror)
try:
    socket.create_connection(("example.test", 443))
except OSError as e:
    print(type(e).__name__)
try:
    socket.create_connection(("1.1.1.1", 443))
except OSError as e:
    print(e.strerror)
PY
	ok $'Name or service not known\nConnectionRefusedError\nNetwork is unreachable'
	seen '[.connections[] | .verdict] | unique | join(" ")' denied
	assert grep -q 'network: other.test refused: no rule names it' "$MNT/$J/log"
}

@test "private addresses, those of metadata services and the host's own are refused behind names" {
	prog code.py '{"network": ["*:80"]}' <<'PY'
import socket
for name in "meta.test", "own.test", "private.test", "alias.test":
    try:
        socket.getaddrinfo(name, 80)
        with socket.create_connection((name, 80)) as s:
            s.sendall(b"GET /hello HTTP/1.0\r\nHost: x\r\n\r\n")
            print(name, len(s.recv(4096)) > 0)
    except OSError as e:
        print(name, type(e).__name__)
PY
	ended "$J" 0 exited
	assert_equal "$(grep -c True "$MNT/$J/stdout")" 2
	assert grep -q 'private.test True' "$MNT/$J/stdout" # the operator's reach covers it
	assert grep -q 'alias.test True' "$MNT/$J/stdout"
	seen '[.connections[] | select(.host == "own.test") | .verdict][0]' own
	seen '[.connections[] | select(.host == "meta.test") | .verdict][0]' private
}

@test "another server name in TLS is cut, and the log says so" {
	prog code.py '{"network": ["example.test"]}' <<'PY'
import socket, ssl
context = ssl.create_default_context()
s = socket.create_connection(("example.test", 443))
try:
    context.wrap_socket(s, server_hostname="other.test")
    print("reached")
except (ssl.SSLError, OSError) as e:
    print("cut")
PY
	ok cut
	seen '.connections[0].verdict' sni
	assert grep -q 'network: example.test:443 cut: the TLS server name is "other.test"' "$MNT/$J/log"
}

@test "an address of a rule is reached as it is written" {
	prog code.py '{"network": ["93.184.216.10:80"]}' <<'PY'
import urllib.request
print(urllib.request.urlopen("http://93.184.216.10/hello").read().decode(), end="")
PY
	ok 'hello from 93.184.216.10'
}

@test "pip installs a wheel from an index that a rule names" {
	local pip
	# an older pip does not run on the machine's Python
	pip=$(find /usr/share/python-wheels /usr/lib/python3* ~/.pyenv -name 'pip-2[4-9]*.whl' 2>/dev/null | sort | tail -n 1)
	[ -n "$pip" ] || need 'there is no wheel of pip 24 or newer'
	mkdir -p "$WORLD/www/simple/tiny"
	/usr/bin/python3 -I -S - "$WORLD/www/simple/tiny" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/tiny-1.0-py3-none-any.whl", "w") as z:
    z.writestr("tiny.py", "word = 'installed'\n")
    z.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    z.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("tiny-1.0.dist-info/RECORD", "")
with open(sys.argv[1] + "/index.html", "w") as f:
    f.write('<a href="tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>')
PY
	job_made code.sh <<'SH'
python3 -m zipfile -e pip.whl p &&
PYTHONPATH=p python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --target t --index-url https://example.test/simple tiny &&
PYTHONPATH=t python3 -c 'import tiny; print(tiny.word)'
SH
	cp "$pip" "$MNT/$J/pip.whl"
	go '{"network": ["example.test"], "timeout": 300}'
	ok installed
}

@test "twenty megabytes come and one goes, and what is sent at the end arrives" {
	prog code.py '{"network": ["example.test:80,81"], "timeout": '"$(patient 60000)"'}' <<'PY'
import socket, urllib.request
print(len(urllib.request.urlopen("http://example.test/big/20000000").read()))
request = urllib.request.Request("http://example.test/", data=b"x" * 1000000)
print(urllib.request.urlopen(request).read().decode(), end="")
PY
	ok $'20000000\n1000000'
	seen '.received > 20000000 and .sent > 1000000' true
}

@test "a job without network has none, and none in its result" {
	prog code.py <<'PY'
import socket
try:
    socket.getaddrinfo("example.test", 80)
except socket.gaierror as e:
    print("no name")
PY
	ok 'no name'
	assert_equal "$(result "$J" .network)" null
}

@test "a sandbox's network changes while its machine runs" {
	local S=$MNT/.fsd/sandboxes/box
	mkdir "$S"
	echo '{"network": []}' >"$S/config.json"
	in_sandbox code.py <<<$'import socket\ntry:\n  socket.getaddrinfo("example.test", 80); print("found")\nexcept OSError:\n  print("none")'
	ok none
	echo '{"network": ["example.test:80"]}' >"$S/config.json"
	in_sandbox code.py <<<$'import urllib.request\nprint(urllib.request.urlopen("http://example.test/hello").read().decode(), end="")'
	ok 'hello from example.test'
	assert_equal "$(result "$J" .network)" null
	assert_equal "$(jq -r 'select(.verdict == "ok") | .host' "$S/network")" example.test
	rmdir "$S"
}

@test "an address that a sandbox's rules name later is routed in its machine, and one that they lose is refused" {
	local S=$MNT/.fsd/sandboxes/late
	local try=$'import urllib.request\ntry:\n  print(urllib.request.urlopen("http://93.184.216.10/hello", timeout=20).read().decode(), end="")\nexcept OSError as e:\n  print(getattr(e, "reason", e))'
	mkdir "$S"
	echo '{"network": []}' >"$S/config.json"
	in_sandbox code.py <<<"$try"
	ok '[Errno 101] Network is unreachable'
	echo '{"network": ["93.184.216.10:80"]}' >"$S/config.json"
	in_sandbox code.py <<<"$try"
	ok 'hello from 93.184.216.10'
	echo '{"network": []}' >"$S/config.json"
	in_sandbox code.py <<<"$try"
	ok '[Errno 104] Connection reset by peer'
	rmdir "$S"
}

@test "the steps of a session share its network, and each has its own connections" {
	local code=$'import urllib.request\nprint(urllib.request.urlopen("http://example.test/hello").read().decode(), end="")'
	prog code.py '{"session": "s", "network": ["example.test:80"]}' <<<"$code"
	ok 'hello from example.test'
	prog code.py '{"session": "s"}' <<<"$code"
	ok 'hello from example.test'
	seen '.connections | length' 1
	job_made code.py <<<'1'
	run job_put "$J" config.json '{"session": "s", "network": true}'
	rmdir "$MNT/.fsd/sessions/s"
}

# relays — the processes of all relays.
relays() {
	pgrep -x fsd-relay -P "$(jailer)" || :
}

# connected — a job $J with a connection, whose end ends it, and then its relay.
connected() {
	local before
	before=$(relays)
	job_made code.py <<'PY'
import socket
s = socket.create_connection(("example.test", 81))
s.sendall(b"x")
print("up", s.recv(1).decode(), flush=True)
try:
    s.recv(1)
except OSError as e:
    print(type(e).__name__)
PY
	job_put "$J" config.json '{"network": ["example.test:81"], "timeout": 3000}'
	await becomes 60 grep -q 'up x' "$MNT/$J/stdout"
	RELAY=$(relays | grep -vxF "${before:-none}")
}

@test "a relay has the walls of a QEMU, and is another user than its machine" {
	[ "$(id -u)" = 0 ] || need root
	connected
	local set ns machine
	machine=$(machines | tail -n 1)
	for set in CapInh CapPrm CapEff CapBnd CapAmb; do
		assert grep -qx "$set:[[:space:]]*0000000000000000" "/proc/$RELAY/status"
	done
	assert grep -qx 'NoNewPrivs:[[:space:]]*1' "/proc/$RELAY/status"
	assert grep -qx 'Seccomp:[[:space:]]*2' "/proc/$RELAY/status"
	for ns in mnt net pid ipc uts cgroup; do
		[ "$(readlink "/proc/$RELAY/ns/$ns")" != "$(readlink "/proc/$SERVER/ns/$ns")" ] || fail "$ns is the server's"
	done
	[ "$(readlink "/proc/$RELAY/ns/net")" != "$(readlink "/proc/$machine/ns/net")" ] || fail "net is a machine's"
	set=$(sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$RELAY/status" "/proc/$machine/status" "/proc/$SERVER/status")
	assert_equal "$(sort -u <<<"$set" | wc -l)" 3
	for set in etc/passwd proc/self dev/null "${MNT#/}" "${WORLD#/}" bin/sh; do
		[ ! -e "/proc/$RELAY/root/$set" ] || fail "/$set is there"
	done
	assert_equal "$(nsenter -t "$RELAY" -n ip -o link | wc -l)" 1
	rm -r "${MNT:?}/$J"
}

@test "a relay that makes a system call it does not need is killed, and its machine's network alone" {
	[ "$(id -u)" = 0 ] || need root
	local call
	connected
	local other=$J first=$RELAY
	# socket, connect, openat, execve, clone, ptrace; unit/vm/jail_test.c has the list
	for call in '41 2 1 0' '42 4 0 0' '257 -100 0 0' '59 0 0 0' '56 17 0 0 0' '101 0 0 0'; do
		connected
		# shellcheck disable=SC2086 # number and arguments
		run bounded 30 "$HOSTILE/inject.py" "$RELAY" $call
		assert_output 'killed SIGSYS'
		bounded 60 cat "$MNT/$J/wait" >/dev/null
		ok $'up x\nConnectionResetError'
		seen '.connections[0].verdict' lost
		assert grep -qF 'network: lost: the relay ended; the program runs on without' "$MNT/$J/log"
	done
	# another job's relay goes on
	assert_equal "$(relays)" "$first"
	run job_state "$other"
	assert_output running
	rm -r "${MNT:?}/$other"
}

# --- hostile programs -------------------------------------------------------------

# given GROUP — sets what a group of tests/hostile/ may ask for, and the policy of its mount.
given() {
	case $1 in
	network)
		wish='["example.test:80,81,443", "alias.test:80", "*.wild.test:80", "93.184.216.10:81", "meta.test:80", "own.test:80", "sneaky.test:80"]'
		policy '{"allow": ["*:*", "93.184.216.10:*"]}'
		;;
	crowd)
		wish='["example.test:80,81,443", "a.wild.test:80"]'
		policy '{"allow": ["*:*"], "connections": 256, "rate": 10000}'
		;;
	esac
	echo reload-network >"$MNT/.fsd/ctl"
}

# group NAME — each row of it in tests/hostile/ has the only good outcome.
group() {
	local wish
	given "$1"
	job_made code.py <"$HOSTILE/$1.py"
	cp "$HOSTILE/hostile.py" "$MNT/$J/"
	job_put "$J" config.json "{\"network\": $wish, \"inputs\": [\"hostile.py\"], \"timeout\": $((110 * SLOW))}"
	bounded 120 cat "$MNT/$J/wait" >/dev/null
	cp "$MNT/$J/stdout" "$BATS_TEST_TMPDIR/$1"
	cp "$MNT/$J/stderr" "$BATS_TEST_TMPDIR/$1.failed"
	policy "$POLICY"
	echo reload-network >"$MNT/.fsd/ctl"
	"$HOSTILE/table.py" check "$1" "$BATS_TEST_TMPDIR"
}

@test "network: a program reaches what its rules name, by no other way" { group network; }
@test "crowd: a program that takes all that it gets leaves its network as it was" { group crowd; }

# --- the end of a server ------------------------------------------------------------

# kill_server — and the one that follows is $SERVER.
kill_server() {
	SERVER=$(await mount "$MNT" "$DAEMON" 20)
	kill -9 "$SERVER"
	await exit "$SERVER" 20
	SERVER=$(await mount "$MNT" "$DAEMON" 20)
}

# goes_on TIMES — so many servers have adopted $J.
goes_on() {
	await becomes 20 awk -v times="$1" '/another server goes on with it/ { n++ } END { exit n != times }' "$MNT/$J/log"
}

@test "downloads go on while their servers are killed, and the result has all connections" {
	local i
	job_made code.py <<'PY'
import selectors, socket, sys, time
def hello(n):
    begin = time.monotonic()
    with socket.create_connection(("example.test", 80)) as s:
        s.sendall(b"GET /hello HTTP/1.0\r\nHost: %d\r\n\r\n" % n)
        said = s.makefile().read()
    took.append(time.monotonic() - begin)
    return said.endswith("hello from %d\n" % n)
took = []
echo = socket.create_connection(("other.test", 81))
try:
    socket.getaddrinfo("evil.test", 80)
except OSError:
    pass
got, loads = {}, selectors.DefaultSelector()
for i in range(20):
    s = socket.create_connection(("example.test", 80))
    s.sendall(b"GET /slow/400000 HTTP/1.0\r\n\r\n")
    loads.register(s, selectors.EVENT_READ)
    got[s] = b""
begun, hellos = False, 0
while loads.get_map():
    for key, _ in loads.select():
        piece = key.fileobj.recv(65536)
        if not piece:
            loads.unregister(key.fileobj)
        got[key.fileobj] += piece
    if not begun and all(got.values()):
        begun = print("begun", flush=True) is None
    if begun and hellos < 50:
        hellos += hello(hellos)
print(*(x.partition(b"\r\n\r\n")[2] == b"x" * 400000 for x in got.values()), hellos == len(took))
echo.sendall(b"echoed")
print(echo.recv(100).decode())
print("of %d new connections the slowest took %.3f s" % (hellos, max(took)), file=sys.stderr)
PY
	job_put "$J" config.json '{"network": ["example.test:80", "other.test:81"], "timeout": '"$(patient 60000)"'}'
	await becomes 60 grep -q begun "$MNT/$J/stdout"
	for i in 1 2 3; do
		kill_server
		goes_on "$i"
	done
	bounded 100 cat "$MNT/$J/wait" >/dev/null
	ok "begun
$(printf 'True %.0s' {1..20})True
echoed"
	sed 's/^/# /' "$MNT/$J/stderr" >&3
	seen '[.connections[] | select(.received == 400118)] | length' 20
	seen '.connections[] | select(.host == "other.test") | [.sent, .received, .verdict] | join(" ")' '6 6 ok'
	seen '.connections[0].host' other.test
	seen '[.connections[] | select(.host == "evil.test") | .verdict] | join(" ")' denied
	seen '[.connections[] | select(.verdict != "ok")] | length' 1
	seen '.received == ([.connections[] | .received // 0] | add) and .dropped == 0' true
	refute grep -q 'network: lost' "$MNT/$J/log"
	assert_equal "$(grep -c 'other.test:81 (93.184.216.11) open' "$MNT/$J/log")" 1
}

@test "a port and its connections outlive the server" {
	job_made code.py <<'PY'
import socket
s = socket.create_server(("127.0.0.1", 8080))
print("serves", flush=True)
for i in range(2):
    c = s.accept()[0]
    while data := c.recv(100):
        c.sendall(b"<%s>\n" % data.strip())
PY
	job_put "$J" config.json '{"ports": [8080, 8081], "timeout": '"$(patient 60000)"'}'
	await becomes 60 grep -q serves "$MNT/$J/stdout"
	await becomes 20 test -S "$MNT/$J/ports/8080" -a -S "$MNT/$J/ports/8081"
	coproc client { /usr/bin/python3 -I -S -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
for line in sys.stdin:
    s.sendall(line.encode())
    print(s.recv(100).decode(), end="", flush=True)' "$MNT/$J/ports/8080"; echo "$?" >"$BATS_TEST_TMPDIR/ended"; }
	echo one >&"${client[1]}"
	read -r -t $((20 * SLOW)) <&"${client[0]}"
	assert_equal "$REPLY" '<one>'
	kill_server
	echo two >&"${client[1]}"
	read -r -t $((20 * SLOW)) <&"${client[0]}"
	assert_equal "$REPLY" '<two>'
	eval "exec ${client[1]}>&-"
	await becomes 20 grep -qx 0 "$BATS_TEST_TMPDIR/ended"
	assert_equal "$(ls "$MNT/$J/ports")" $'8080\n8081'
	run -0 bounded 60 /usr/bin/python3 -I -S -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"three")
print(s.recv(100).decode(), end="")' "$MNT/$J/ports/8080"
	assert_output '<three>'
	bounded 60 cat "$MNT/$J/wait" >/dev/null
	ended "$J" 0 exited
	refute [ -e "$MNT/$J/ports" ]
}

@test "a session and a sandbox have their networks behind a kill and an upgrade of the server" {
	local S=$MNT/.fsd/sandboxes/box
	local hello=$'s.sendall(b"GET /hello HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n"); print(s.makefile().read().splitlines()[-1])'
	mkdir "$S"
	echo '{"network": ["example.test:80"], "ports": [8080]}' >"$S/config.json"
	in_sandbox code.py '"session": "in"' <<<$'import socket\ns = socket.create_connection(("example.test", 80)); print("open")'
	ok open
	prog code.py '{"session": "s", "network": ["example.test:80"]}' <<<$'import socket\ns = socket.create_connection(("example.test", 80)); print("open")'
	ok open
	kill_server
	in_sandbox code.py '"session": "in"' <<<"$hello"
	ok 'hello from x'
	# the connection ends when the session's Python lets go of it
	in_sandbox code.py '"session": "in"' <<<'s.close(); del s'
	await becomes 20 grep -q '"example.test", *"port": *80' "$S/network"
	await becomes 20 test -S "$S/ports/8080"
	prog code.py '{"session": "s"}' <<<"$hello"
	ok 'hello from x'
	prog code.py '{"session": "s"}' <<<'s = socket.create_connection(("example.test", 80)); print("open")'
	ok open
	run -0 bounded 60 "$FSD" upgrade "$MNT"
	prog code.py '{"session": "s"}' <<<"$hello"
	ok 'hello from x'
	prog code.py '{"session": "s"}' <<<'s = socket.create_connection(("example.test", 80)); '"$hello"
	ok 'hello from x'
	# and the one of the first step, which ends when its name is used again
	seen '[.connections[] | .host] | join(" ")' 'example.test example.test'
	rmdir "$MNT/.fsd/sessions/s" "$S"
}

@test "fsd run --network reaches a server through a private mount" {
	cd "$BATS_TEST_TMPDIR" || return
	echo 'import urllib.request; print(urllib.request.urlopen("http://example.test/hello").read().decode(), end="")' >a.py
	run bounded 200 "$FSD" run --private --timeout 100 --network example.test:80 a.py
	assert_success
	assert_line 'hello from example.test'
}
