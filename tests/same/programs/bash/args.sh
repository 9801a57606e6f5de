# Arguments keep their words.
printf '<%s>' "$@"; echo
echo "$# $*"
IFS=:; echo "$*"; shift 2; echo "$1"
set -- a 'b c' d; for x; do echo "$x"; done
while getopts 'ab:' o -a -b val rest; do echo "$o ${OPTARG-}"; done
echo "${@:2:1}" "${!#}"
