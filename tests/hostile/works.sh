#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What ordinary shell programs do; the outcomes are expected in table.py.

tell() {
	printf '%s\t%s\n' "$1" "$2"
}

tell pipeline "$(seq 100 | sort -rn | head -n 2 | xargs)"
tell substitution "$(cat <(echo one) <(echo two) | xargs)"

coproc cat
echo through >&"${COPROC[1]}"
read -r said <&"${COPROC[0]}"
tell coproc "$said"

sleep 600 &
kill %sleep
wait $! 2>/dev/null
tell job $?

caught=0
trap 'caught=$((caught + 1))' USR1
kill -USR1 $$
tell trap "$caught"

ulimit -n 2048
tell ulimit "$(ulimit -n)"

tell here "$(cat <<<word)"
exec {fd}<>/tmp/file
echo text >&"$fd"
tell descriptor "$(cat /tmp/file)"

mkfifo /tmp/fifo
echo first >/tmp/fifo &
tell fifo "$(cat /tmp/fifo)"

tar -C /tmp -cf - file | tar -C "$HOME" -xf -
tell tar "$(cat "$HOME/file")"
tell timeout "$(timeout 0.1 sleep 600; echo $?)"
tell setsid "$(setsid -w echo apart)"
tell taskset "$(taskset -c 0 echo bound)"
tell flock "$(flock /tmp/lock echo locked)"
tell nice "$(nice -n 5 nice)"
tell awk "$(awk 'BEGIN { printf "%.3f", atan2(0, -1) }')"
tell ps "$(ps -o comm= -p $$)"
tell df "$(df --output=target /tmp | tail -n 1)"
