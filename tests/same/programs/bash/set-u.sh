# An unset variable ends a script with nounset.
set -u
echo "${HOME}"
echo "${given:=assigned} $given"
arr=(); echo "${#arr[@]} ${arr[@]+x}"
echo "$missing"
echo never
