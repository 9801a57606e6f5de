# Descriptors are opened, moved, closed, and numbered by the shell.
ls /proc/self/fd | tr '\n' ' '; echo
exec 3>out 4<code.sh
echo "to three" >&3
read -r line <&4; echo "$line"
exec {fd}>more; echo "fd $fd" >&"$fd"; exec {fd}>&-
exec 3>&-
echo x >&3; echo "$?"
{ echo out; echo err >&2; } 2>&1 >/dev/null | sed s/err/swapped/
ls /proc/$$/fd >fds; tr '\n' ' ' <fds; echo; rm fds
exec 1>&2; echo "now on stderr"
