# SPDX-License-Identifier: Apache-2.0
# submit JOB CONFIG: see submit.py. It waits by looking for exit_code.
lassign $argv job config

proc put {name text} {
	set f [open $name w]
	puts -nonewline $f $text
	close $f
}

file mkdir $job
put $job/code.sh "out hello\nerr oops\nwrite result.txt made\nexit 7\n"
put $job/config.json $config
while {![file exists $job/exit_code]} {
	after 1
}
foreach name {exit_code stdout output/result.txt} {
	set f [open $job/$name]
	puts -nonewline [read $f]
	close $f
}
