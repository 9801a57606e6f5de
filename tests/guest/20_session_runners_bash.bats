#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# bash that runs one step after another, on the host.

bats_require_minimum_version 1.5.0
load ../lib/session

# bats test_tags=smoke
@test "bash: variables, functions, arrays and aliases stay" {
	session bash <<-'END'
		### session
		x=1; list=(a b); declare -A map=([k]=v)
		f() { echo "f $1"; }
		shopt -s expand_aliases
		alias hi='echo hello'
		### session
		f "$x ${list[1]} ${map[k]}"
		hi
	END
	output_is 'exit: 0' 'out: f 1 b v' 'out: hello' 'exit: 0'
}

@test "bash: the directory, the environment and options stay" {
	session bash <<-'END'
		### session
		mkdir sub; cd sub; export A=1 B=2; set -f; shopt -s nullglob
		### session
		echo "$PWD" *; printenv A B; shopt nullglob
	END
	output_is 'exit: 0' 'out: HOME/sub *' 'out: 1' 'out: 2' \
		"out: nullglob       	on" 'exit: 0'
}

@test "bash: a step's variables are put back after it, whatever it made of them" {
	session bash <<-'END'
		### session
		plain=p; export given=g
		### session env=NEW=1,HOME=/h,IFS=:,plain=q,given=h
		q=a:b; printf '<%s>' $q $HOME $plain $given; sh -c 'echo "$NEW $plain"'
		NEW=2; unset HOME given
		### session
		q=a:b; printf '<%s>' "${NEW-none}" $q $HOME $plain; sh -c 'echo "$given ${plain-none}"'
	END
	output_is 'exit: 0' 'out: <a><b></h><q><h>1 q' 'exit: 0' \
		'out: <none><a:b></><p>g none' 'exit: 0'
}

# The helper that says "go" lives on: bash's `read` loses a signal that comes just
# after the SIGCHLD of a background process.
@test "bash: an interrupt ends the step with 130 wherever it is, and all stays" {
	session bash <<-'END'
		### session
		x=1; soon() { (sleep 0.2; echo go; exec >/dev/null 2>&1; sleep 2) & }
		### session int=go
		f() { soon; sleep 1000; echo no; }; f; echo no
		### session int=go
		soon; while :; do true; done
		### session int=go open
		soon; read -r line; echo no
		### session int=go
		soon; y=$(sleep 1000); echo no
		### session int=go
		set -e; soon; if ! (sleep 1000 | cat); then echo no; fi
		### session int=go
		soon; trap 'echo last' EXIT; wait; sleep 1000
		### session int=go
		trap 'echo own' INT; soon; sleep 0.4; echo after; trap - INT; trap -p
		### session int=go
		soon; sleep 1000
		### session
		echo "$x"
	END
	assert_equal "$(grep -cx 'exit: 130' <<<"$output")" 7
	refute_line 'out: no'
	assert_equal "$(tail -n 11 <<<"$output")" "$(printf '%s\n' 'out: last' \
		'exit: 130' 'out: go' 'out: own' 'out: after' 'exit: 0' 'out: go' \
		'exit: 130' 'out: 1' 'exit: 0' ended)"
}

@test "bash: what runs in the background survives an interrupt" {
	session bash <<-'END'
		### session int=go
		sleep 0.5 & p=$!
		until [[ $(</proc/$p/comm) = sleep ]]; do :; done
		echo go; wait
		### session
		wait $p; echo $?
	END
	output_is 'out: go' 'exit: 130' 'out: 0' 'exit: 0'
}

@test "bash: a step has its own name and arguments" {
	session bash <<-'END'
		### session args=a,b
		echo "$0 ${BASH_SOURCE[0]} $# $*"
		### session file=other.sh
		echo "$0 ${BASH_SOURCE[0]} $#"
	END
	output_is 'out: HOME/step.sh HOME/step.sh 2 a b' 'exit: 0' \
		'out: HOME/other.sh HOME/other.sh 0' 'exit: 0'
}

@test "bash: the last command's status is the exit code" {
	session bash <<-'END'
		### session
		false
		### session
		(exit 200)
		### session
		return 3
		### session
		no_such_command
		### session
	END
	output_is 'exit: 1' 'exit: 200' 'exit: 3' \
		'err: HOME/step.sh: line 1: no_such_command: command not found' \
		'exit: 127' 'exit: 0'
}

@test "bash: exit ends the step anywhere and keeps the session" {
	session bash <<-'END'
		### session
		x=1
		exit 3
		### session
		f() { x=2; declare -g y=3; exit 4; echo not; }
		f
		echo not
		### session
		for i in 1 2; do exit; done
		### session
		echo $x $y $i
		f | cat; (exit 5)
	END
	output_is 'exit: 3' 'exit: 4' 'exit: 0' 'out: 2 3 1' 'exit: 5'
}

@test "bash: exit leaves loops, conditions, files and functions" {
	session bash <<-'END'
		### session
		i=0; while :; do exit $((++i)); done; echo not
		### session
		g() { if exit 2; then echo not; fi; }; while ! g; do echo not; done
		echo not
		### session
		set -e; exit 3 || echo not; (echo not); echo not | cat
		### session
		echo 'eval "exit 4"; echo not' >lib.sh; . ./lib.sh; echo not
		### session
		x=$(exit 5) || exit; echo not
		### session
		(exit 6) || echo "$? $i"
		### session
		exit 263
		### session
		exit no 2>/dev/null
		### session
		set -o | grep -c 'errtrace *on\|functrace *on'; trap -p DEBUG
	END
	output_is 'exit: 1' 'exit: 2' 'exit: 3' 'exit: 4' 'exit: 5' 'out: 6 1' \
		'exit: 0' 'exit: 7' 'exit: 2' 'out: 0' 'exit: 0'
}

@test "bash: exit leaves no local variable behind" {
	session bash <<-'END'
		### session
		IFS=:; f() { local IFS=, x=1; exit 1; }; f
		### session
		echo "$IFS ${x-none}"
	END
	output_is 'exit: 1' 'out: : none' 'exit: 0'
}

@test "bash: exit makes no process stay" {
	session bash <<-'END'
		### session
		first=$BASHPID; exit 1
		### session
		[ "$first" = "$BASHPID" ] && echo same
	END
	output_is 'exit: 1' 'out: same' 'exit: 0'
}

@test "bash: exit works under a program's own traps" {
	session bash <<-'END'
		### session
		trap 'echo error' ERR; trap 'exit 8' USR1
		f() { exit 3; }; f; echo not
		### session
		kill -USR1 $BASHPID; echo not
		### session
		trap 'echo debug' DEBUG
		exit 4
		### session
		trap - DEBUG
		builtin exit 5
		### session
		echo on
	END
	assert_line --index 0 'exit: 3'
	assert_line 'exit: 4'
	assert_line 'exit: 5'
	assert_line 'exit: 8'
	assert_line 'out: on'
	refute_line 'out: error'
	refute_line 'out: not'
}

@test "bash: what is declared after an exit stays as well" {
	session bash <<-'END'
		### session
		f() { exit 1; }; f
		### session
		declare -A map=([k]=v); declare -i n=2+3; g() { echo g; }
		exit 2
		### session
		echo ${map[k]} $n; g
	END
	output_is 'exit: 1' 'exit: 2' 'out: v 5' 'out: g' 'exit: 0'
}

@test "bash: a session outlives many exits" {
	{
		for i in {1..40}; do
			printf '### session\necho $((++n)); set -e; (exit %d)\n' "$i"
		done
	} >"$BATS_TEST_TMPDIR/steps"
	session bash <"$BATS_TEST_TMPDIR/steps"
	assert_line --index 78 'out: 40'
	assert_line --index 79 'exit: 40'
}

@test "bash: set -e ends its step and is off in the next" {
	session bash <<-'END'
		### session
		set -euo pipefail
		x=1
		false
		echo not
		### session
		false | true; echo "$x $nothing"
	END
	output_is 'exit: 1' 'out: 1 ' 'exit: 0'
}

@test "bash: an unset variable under set -u ends the step" {
	session bash <<-'END'
		### session
		set -u
		echo $nothing
		echo not
		### session
		echo on ${gone:?is gone}
		### session
		echo on
	END
	output_is 'err: HOME/step.sh: line 2: nothing: unbound variable' 'exit: 1' \
		'err: HOME/step.sh: line 1: gone: is gone' 'exit: 1' \
		'out: on' 'exit: 0'
}

@test "bash: wrong syntax is 2, and all stays" {
	session bash <<-'END'
		### session
		x=1
		### session
		if then
		### session
		echo $x
	END
	assert_line --partial 'err: HOME/step.sh: line 1: syntax error near'
	assert_line 'exit: 2'
	assert_line 'out: 1'
}

@test "bash: set -x shows the step's commands only" {
	session bash <<-'END'
		### session
		set -x
		echo hi
		### session
		echo on
	END
	output_is 'out: hi' 'err: ++ echo hi' 'exit: 0' 'out: on' 'exit: 0'
}

@test "bash: stdin is the step's" {
	session bash <<-'END'
		### session stdin=one\ntwo\n
		read -r line; echo "$line"
		### session stdin=three\n
		cat
		### session
		read -r line || echo end
	END
	output_is 'out: one' 'exit: 0' 'out: three' 'exit: 0' 'out: end' 'exit: 0'
}

@test "bash: exec with a redirection lasts until the step's end" {
	session bash <<-'END'
		### session
		exec >file 3>other
		echo in file; echo in other >&3
		### session
		cat file other
	END
	output_is 'exit: 0' 'out: in file' 'out: in other' 'exit: 0'
}

@test "bash: a program's EXIT trap runs at the end of its step, once" {
	session bash <<-'END'
		### session
		trap 'echo "bye $?"' EXIT
		(exit 3)
		### session
		trap 'echo "gone $?"' 0 TERM
		exit 4
		### session
		trap 'exit 9' EXIT
		### session
		trap 'echo not' EXIT
		trap - EXIT
	END
	output_is 'out: bye 3' 'exit: 3' 'out: gone 4' 'exit: 4' 'exit: 9' 'exit: 0'
}

@test "bash: other traps stay" {
	session bash <<-'END'
		### session
		trap 'echo signal' USR1
		### session
		kill -USR1 $BASHPID
		echo on
	END
	output_is 'exit: 0' 'out: signal' 'out: on' 'exit: 0'
}

@test "bash: trap and trap -p show the program's traps and no others" {
	session bash <<-'END'
		### session
		trap; trap -p; trap -p EXIT; echo "[$(trap -p)]"
		trap 'echo "it'"'"'s"' EXIT; trap 'echo signal' USR1
		trap
		saved=$(trap -p EXIT); trap 'echo other' EXIT; eval "$saved"
		(trap 'echo sub' EXIT; trap -p EXIT)
		trap -p USR1 NONE 2>/dev/null || echo "no NONE"
	END
	output_is 'out: []' $'out: trap -- \'echo "it\'\\\'\'s"\' EXIT' "out: trap -- 'echo signal' SIGUSR1" \
		"out: trap -- 'echo sub' EXIT" 'out: sub' "out: trap -- 'echo signal' SIGUSR1" \
		'out: no NONE' "out: it's" 'exit: 0'
}

@test "bash: a subshell's EXIT trap is the subshell's" {
	session bash <<-'END'
		### session
		(trap 'echo sub' EXIT; echo in)
		echo "after $(trap 'echo end' EXIT)"
		### session
		echo on
	END
	output_is 'out: in' 'out: sub' 'out: after end' 'exit: 0' 'out: on' 'exit: 0'
}

@test "bash: break and continue outside loops end only the step" {
	session bash <<-'END'
		### session
		x=1; continue; echo not
		### session
		break 2; echo not
		### session
		echo $x
	END
	output_is 'exit: 0' 'exit: 0' 'out: 1' 'exit: 0'
}

@test "bash: children have the step's streams and nothing else" {
	session bash <<-'END'
		### session
		exit
		### session
		/bin/sh -c 'for f in /proc/self/fd/*; do echo ${f##*/}; done'
	END
	output_is 'exit: 0' 'out: 0' 'out: 1' 'out: 2' 'out: 3' 'exit: 0'
}

@test "bash: a background job goes on in its step's streams" {
	session bash <<-'END'
		### session later=late
		mkfifo go
		{ read -r _ <go; echo late; } &
		{ echo >go; } &
	END
	assert_line 'exit: 0'
	assert_line 'out: late'
}

@test "bash: IFS and positional parameters do not confuse the session" {
	session bash <<-'END'
		### session
		IFS=/; set -- x y; set -a
		### cell
		echo "$#"; IFS=$' \t\n'
	END
	output_is 'exit: 0' 'out: 0' 'exit: 0'
}

@test "bash: a program's own descriptors stay, whatever their numbers" {
	session bash <<-'END'
		### session
		exec 3>three 10>ten 11>eleven
		echo 3 >&3; echo End of ten >&10; echo 11 >&11
		### session
		echo on >&10; cat three ten eleven
		### session
		exec 3>&- 4>&- 10>&- 11>&- 12>&-
		### session
		for fd in /proc/self/fd/*; do echo "${fd##*/}"; done | sort -n | head -4
	END
	output_is 'exit: 0' 'out: 3' 'out: End of ten' 'out: on' 'out: 11' \
		'exit: 0' 'exit: 0' 'out: 0' 'out: 1' 'out: 2' 'out: 3' 'exit: 0'
}

@test "bash: TMOUT is for the program and not for the time between steps" {
	session bash <<-'END'
		### session
		x=1 TMOUT=1
		### session pause=1.3
		echo "$x $TMOUT"
		### session
		readonly TMOUT
		### session pause=1.3
		echo "$x"
	END
	output_is 'exit: 0' 'out: 1 1' 'exit: 0' 'exit: 0' 'out: 1' 'exit: 0'
}

@test "bash: functions and aliases with the names of builtins spoil nothing" {
	session bash <<-'END'
		### session
		shopt -s expand_aliases
		for name in eval export mapfile printf read set shopt trap; do
			builtin eval "$name() { echo not; }"
			alias "$name=echo not"
		done
		### session args=a env=B=1
		echo "$1 $B"; printenv B
		### session
		exit 3
	END
	output_is 'exit: 0' 'out: a 1' 'out: 1' 'exit: 0' 'exit: 3'
}
