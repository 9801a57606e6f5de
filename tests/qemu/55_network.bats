#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# "network" on real machines: a helper in the machine, a relay and the door, between two
# network namespaces of the test's own (tests/network/world.py). Nothing leaves them.

load ../lib/qemu
load ../lib/network

POLICY='{"allow": ["*:*", "10.9.9.1:*", "93.184.216.10:*"], "reach": ["10.9.9.1"], "ca": "ca.pem",
	"env": {"PIP_INDEX_URL": "https://example.test/simple", "npm_config_registry": "https://example.test/npm/",
		"REQUESTS_CA_BUNDLE": "/run/ca.pem", "LANG": "en_US.UTF-8"}}'

setup_file() {
	world_up
	policy "$POLICY"
	MNT=$WORLD/mnt
	export ENVIRONMENTS=$WORLD/env
	mkdir "$ENVIRONMENTS"
	file_setup --fork no --network "$WORLD/policy.json" --environments "$ENVIRONMENTS"
	private_templates
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

@test "the operator's variables and certificates are those of a job with a network, unless it sets them" {
	local names='PIP_INDEX_URL npm_config_registry SSL_CERT_FILE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS LANG'
	local code="for n in $names; do echo \"\$n=\${!n-}\"; done; env | cut -d= -f1 | sort | uniq -d"
	prog code.sh '{"network": ["example.test"]}' <<<"$code"
	ok $'PIP_INDEX_URL=https://example.test/simple\nnpm_config_registry=https://example.test/npm/\nSSL_CERT_FILE=/run/ca.pem\nREQUESTS_CA_BUNDLE=/run/ca.pem\nNODE_EXTRA_CA_CERTS=/run/ca.pem\nLANG=en_US.UTF-8'
	prog code.sh '{"network": ["example.test"], "env": {"PIP_INDEX_URL": "own", "SSL_CERT_FILE": "", "LANG": "C"}}' <<<"$code"
	ok $'PIP_INDEX_URL=own\nnpm_config_registry=https://example.test/npm/\nSSL_CERT_FILE=\nREQUESTS_CA_BUNDLE=/run/ca.pem\nNODE_EXTRA_CA_CERTS=/run/ca.pem\nLANG=C'
	prog code.sh <<<"$code"
	ok $'PIP_INDEX_URL=\nnpm_config_registry=\nSSL_CERT_FILE=\nREQUESTS_CA_BUNDLE=\nNODE_EXTRA_CA_CERTS=\nLANG=C.UTF-8'
}

@test "a Node that reads the operator's LANG at its start is a fresh one, which trusts the operator's CA" {
	prog code.js '{"network": ["example.test"], "timeout": '"$(patient 60000)"'}' <<'JS'
const answer = await fetch("https://example.test/hello");
process.stdout.write(process.env.LANG + " " + await answer.text());
JS
	ok 'en_US.UTF-8 hello from example.test'
	assert_equal "$(result "$J" .environment.why)" "the operator's \"env\" has LANG, which is read at the start"
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

@test "of an internal mirror, one rule, one CA and one variable are enough for the real pip" {
	local pip
	# an older pip does not run on the machine's Python
	pip=$(find /usr/share/python-wheels /usr/lib/python3* ~/.pyenv -name 'pip-2[4-9]*.whl' 2>/dev/null | sort | tail -n 1)
	[ -n "$pip" ] || need 'there is no wheel of pip 24 or newer'
	/usr/bin/python3 -I -S "$TESTS/network/mirror.py" "$WORLD/www" https://example.test
	mkdir "$BATS_TEST_TMPDIR/wheels"
	cp "$pip" "$BATS_TEST_TMPDIR/wheels"
	pip=${pip##*/pip-}
	environments_place "$ENVIRONMENTS"
	FSD_IMAGE=$IMAGE bounded 300 "$FSD_REAL" env build --environments "$ENVIRONMENTS" pip \
		--pypi "pip==${pip%%-*}" --wheelhouse "$BATS_TEST_TMPDIR/wheels"
	local config='"network": ["example.test"], "environment": "pip", "timeout": '
	config+=$(patient 60000)
	prog code.sh "{$config}" <<'SH'
pip install --quiet tiny && python3 -c 'import tiny; print(tiny.word)'
SH
	ok 'tiny with tinier'
	prog code.py "{$config, \"mode\": \"cell\"}" <<'PY'
!pip install --quiet tiny
import tiny
print(tiny.word)
PY
	ok 'tiny with tinier'
	# without a network the real one is not started
	prog code.sh '{"environment": "pip"}' <<<'pip install tiny'
	ended "$J" 1 exited
	assert grep -q 'has no network' "$MNT/$J/stderr"
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

@test "a server that is killed leaves the program alone, and the next one serves jobs with networks" {
	job_made code.py <<'PY'
import time, urllib.request
print(urllib.request.urlopen("http://example.test/hello").read().decode(), end="", flush=True)
for i in range(100):
    time.sleep(0.1)
PY
	job_put "$J" config.json '{"network": ["example.test:80"], "timeout": 200}'
	await becomes 60 grep -q hello "$MNT/$J/stdout"
	kill -9 "$SERVER"
	bounded 100 cat "$MNT/$J/wait" >/dev/null
	ok 'hello from example.test'
	assert_equal "$(result "$J" .network)" null
	assert grep -q 'network: lost: its relay ended with the server' "$MNT/$J/log"
	SERVER=$(await mount "$MNT" "$DAEMON" 20)
	prog code.py '{"network": ["example.test:80"]}' <<<$'import urllib.request\nprint(urllib.request.urlopen("http://example.test/hello").read().decode(), end="")'
	ok 'hello from example.test'
}

@test "fsd run --network reaches a server through a private mount" {
	cd "$BATS_TEST_TMPDIR" || return
	echo 'import urllib.request; print(urllib.request.urlopen("http://example.test/hello").read().decode(), end="")' >a.py
	run bounded 200 "$FSD" run --private --timeout 100 --network example.test:80 a.py
	assert_success
	assert_line 'hello from example.test'
}
