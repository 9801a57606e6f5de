# Functions have their own variables, recursion, and a trace of calls.
fact() { (($1 <= 1)) && echo 1 || echo $(($1 * $(fact $(($1 - 1))))); }
fact 9
outer() { local x=1; inner; echo "outer $x"; }; inner() { x=2; echo "${FUNCNAME[*]} ${BASH_LINENO[0]}"; caller 0; }
outer; echo "<$x>"
f() { unset -f f; echo once; }; f; f
type outer | head -n 2; declare -f fact | wc -l
export -f inner; bash -c 'inner' 2>&1
command -v ls echo if; type -t echo if outer ls nothing
