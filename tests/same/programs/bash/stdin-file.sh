# Standard input is a file that can be read twice, by number and by name.
wc -c
cat /dev/stdin | wc -l
cat <&0
stat -L -c %F /proc/self/fd/0
sort -t, -k2 -rn /dev/stdin; exec 5<&0; read -r -u 5 x; echo "<$x>"
mapfile -t lines <code.sh; echo "${#lines[@]}"
