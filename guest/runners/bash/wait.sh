# SPDX-License-Identifier: Apache-2.0
# The runner of bash: named by BASH_ENV, so bash reads it before it opens the
# program, /home/user/code.sh. It waits for one byte: h, a child runs the file
# that lies there and ends; r or f, this file ends, and bash goes on with the program
# by itself. Arguments and another environment are not for it: the host has such
# programs started afresh.
unset BASH_ENV
printf R >&3
while read -r -N 1 -u 3 && [[ $REPLY == h ]]; do
	(
		exec 3>&- 4>&-
		RANDOM=$SRANDOM
		. /home/user/code.sh
	)
	printf H >&3
done
# Seed RANDOM anew: the shell has drawn the present seed before it was cloned.
RANDOM=$SRANDOM SECONDS=0
# The host has put standard input into a file.
[[ $REPLY != f ]] || exec </run/input/stdin
unset REPLY
exec 3>&- 4>&-
