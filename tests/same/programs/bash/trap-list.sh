# No trap is set before the script sets one.
trap -p
trap
trap 'echo got' USR1
trap -p
kill -USR1 $$
trap '' TERM
kill $$
trap - USR1 TERM
trap -p
(trap 'echo int in sub' INT; kill -INT $BASHPID)
echo end
