# SPDX-License-Identifier: Apache-2.0
#
# For a script's shell, as root: HTCondor on this host alone, as Debian's minicondor
# configures it, with its files in /srv/condor. It takes no jobs of root, so that a user
# anna submits them, who gets the shell's directory and those in it.
export _CONDOR_LOCAL_DIR=/srv/condor
rm -rf "$_CONDOR_LOCAL_DIR"
install -d -o condor -g condor "$_CONDOR_LOCAL_DIR"/{run,log,lock,spool,lib}/condor \
	"$_CONDOR_LOCAL_DIR"/lib/condor/{execute,cred_dir}
id -u anna >/dev/null 2>&1 || useradd --create-home anna
# The longest time that the examples may take. It is no child of the shell, whose `wait`
# would wait for it.
condor_pid=$(timeout -s QUIT -k 30 900 condor_master -f >/dev/null 2>&1 </dev/null & echo $!)
condor_end() {
	kill -QUIT "$condor_pid"
	tail --pid="$condor_pid" -f /dev/null
}
timeout 60 bash -c 'until condor_status -af Name 2>/dev/null | grep -q .; do sleep 0.1; done'

condor_submit() {
	chmod a+x "$HOME"
	find . -maxdepth 1 -type d ! -name ".?*" -exec chown anna: {} +
	runuser -u anna -- condor_submit "$@"
}
