# A child's signal is told by its code and, at times, a word.
bash -c 'kill -SEGV $$'; echo "segv $?"
bash -c 'kill -PIPE $$'; echo "pipe $?"
(kill -9 $BASHPID); echo "kill $?"
yes | head -n 1; echo "${PIPESTATUS[*]}"
kill -l 15 INT 137
timeout 0.1 sleep 30; echo "timeout $?"
timeout -s KILL 0.1 sleep 30; echo "killed $?"
