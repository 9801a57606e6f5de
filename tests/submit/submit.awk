# SPDX-License-Identifier: Apache-2.0
# submit JOB CONFIG: see submit.py.
function put(name, text) {
	printf "%s", text >(job "/" name)
	if (close(job "/" name) != 0)
		exit 1
}
function show(name, line) {
	while ((getline line <(job "/" name)) > 0)
		print line
}
BEGIN {
	job = ARGV[1]
	if (system("mkdir '" job "'") != 0)
		exit 1
	put("code.sh", "out hello\nerr oops\nwrite result.txt made\nexit 7\n")
	put("config.json", ARGV[2])
	show("wait")
	show("stdout")
	show("output/result.txt")
}
