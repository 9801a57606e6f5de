# Commands are traced to standard error, with PS4.
set -x
x="a b"
echo "$(echo "$x")"
PS4='+$LINENO '
[[ $x == a* ]] && echo yes
set +x
exec 2>trace; BASH_XTRACEFD=2; set -x
: traced
