# SPDX-License-Identifier: Apache-2.0
# submit JOB CONFIG: see submit.py.
use strict;
use warnings;

my ($job, $config) = @ARGV;

sub put {
	my ($name, $text) = @_;
	open(my $f, '>', "$job/$name") or die "$name: $!\n";
	print $f $text or die "$name: $!\n";
	close($f) or die "$name: $!\n";
}

mkdir($job) or die "$job: $!\n";
put('code.sh', "out hello\nerr oops\nwrite result.txt made\nexit 7\n");
put('config.json', $config);
for my $name ('wait', 'stdout', 'output/result.txt') {
	open(my $f, '<', "$job/$name") or die "$name: $!\n";
	print while <$f>;
}
