# A script sees its own processes, and nobody else's.
sleep 100 & pid=$!
ps -o comm= -p $pid; kill -0 $pid && echo alive; kill $pid; wait $pid; echo $?
ps -e -o user=,comm= | awk '$1 == "user" { print $2 }' | sort | uniq -c; pgrep -c bash
setsid -w echo setsid; (echo $BASHPID; echo $$) | sort -u | wc -l
env -i /bin/bash -c 'echo "$PATH" "$HOME"'; (exec -a name bash -c 'echo $0'); cat /proc/$$/comm; tr '\0' ' ' </proc/$$/cmdline
