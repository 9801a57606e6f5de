# SPDX-License-Identifier: Apache-2.0
#
# For a script's shell: an sshd(8) of its own, on a port of the loopback that is free. `ssh
# NAME COMMAND` reaches it, whatever the name is, and gets what fsd needs.
sshd_dir=$HOME/.sshd
mkdir -p "$sshd_dir" /run/sshd
for key in host user; do
	ssh-keygen -q -t ed25519 -N '' -f "$sshd_dir/$key"
done
sshd_port=$(/usr/bin/python3 -c '
import socket
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    print(s.getsockname()[1])')
cat >"$sshd_dir/sshd_config" <<-END
	ListenAddress 127.0.0.1
	Port $sshd_port
	HostKey $sshd_dir/host
	AuthorizedKeysFile $sshd_dir/user.pub
	PidFile none
	StrictModes no
	UsePAM no
	SetEnv PATH=$PATH FSD_IMAGE=$FSD_IMAGE
END
cat >"$sshd_dir/config" <<-END
	Host *
	HostName 127.0.0.1
	Port $sshd_port
	User $(id -un)
	IdentityFile $sshd_dir/user
	UserKnownHostsFile $sshd_dir/known
	StrictHostKeyChecking accept-new
	LogLevel ERROR
END
# The longest time that the examples may take. It is no child of the shell, whose `wait`
# would wait for it.
sshd_pid=$(timeout 900 /usr/sbin/sshd -D -e -f "$sshd_dir/sshd_config" \
	>/dev/null 2>"$sshd_dir/log" </dev/null & echo $!)
sshd_end() {
	kill "$sshd_pid"
}
for _ in $(seq 100); do
	! (exec 3<>"/dev/tcp/127.0.0.1/$sshd_port") 2>/dev/null || break
	sleep 0.1
done

ssh() {
	command ssh -n -F "$sshd_dir/config" "$@"
}
