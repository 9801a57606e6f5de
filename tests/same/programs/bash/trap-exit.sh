# Traps at the exit, at errors, before commands and at returns.
trap 'echo "exit $?"' EXIT
trap 'echo "error at line $LINENO: $BASH_COMMAND"' ERR
false
(trap 'echo sub' EXIT; exit 3)
f() { trap 'echo return' RETURN; return 2; }
f || echo "f $?"
trap 'echo "debug: $BASH_COMMAND"' DEBUG
: one
trap - DEBUG
trap -p EXIT
exit 5
