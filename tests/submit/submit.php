<?php
// SPDX-License-Identifier: Apache-2.0
// submit JOB CONFIG: see submit.py. PHP does not tell what a close says; the
// state does.
[, $job, $config] = $argv;
mkdir($job) or exit(1);
file_put_contents("$job/code.sh", "out hello\nerr oops\nwrite result.txt made\nexit 7\n");
file_put_contents("$job/config.json", $config);
if (trim(file_get_contents("$job/state")) === "refused") {
	fwrite(STDERR, file_get_contents("$job/error"));
	exit(1);
}
foreach (["wait", "stdout", "output/result.txt"] as $name)
	echo file_get_contents("$job/$name");
