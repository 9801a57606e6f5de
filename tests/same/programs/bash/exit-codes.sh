# Codes of commands, functions, tests, pipelines and missing programs.
false; echo $?
! true; echo $?
f() { return 300; }; f; echo $?
(exit -1); echo $?
no_such_command; echo $?
/etc/passwd; echo $?
/etc; echo $?
./nothing; echo $?
true | false | true; echo "$? ${PIPESTATUS[@]}"
set -o pipefail; false | true; echo $?
[[ a < b && 2 -gt 1 ]]; echo $?
[ 1 -eq x ]; echo $?
((0)); echo $?
let 'x = 5 / 0'; echo $?
grep x /etc/nothing; echo $?
echo text >/etc/file; echo $?
cd /nowhere; echo $?
readonly r=1; (r=2); echo $?
exit 256
