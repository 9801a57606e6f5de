# With errexit, nounset and pipefail a script ends at its first error.
set -euo pipefail
echo "$- $SHELLOPTS" | tr -d hB
if false; then :; fi
false || echo "allowed"
f() { false; echo "f goes on"; }
f && echo "in a condition"
x=$(echo sub; false) || echo "sub $?"
: "${unset_one:-default}"
trap 'echo "exit $? at ${LINENO:+a line}"' EXIT
true | false | cat
echo never
