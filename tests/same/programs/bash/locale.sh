# Text is UTF-8, and sorting is by code points.
s='naïve 日本 👩'; echo ${#s} "${s:2:3}" "${s^^}"; printf '%s\n' b A a B é | sort; LC_ALL=C bash -c 's=é; echo ${#s}'
locale 2>/dev/null | head -3; echo "$LANG ${LC_ALL-}"; printf 'é\n' | tr é e; printf '\xff\n' | cat -v; echo é | wc -m; awk 'BEGIN { print length("é"), toupper("é") }'
sed 's/./x/g' <<<"日本"; [[ é == ? ]]; echo $?; printf '%-5s|\n' é; LC_ALL=de_DE.UTF-8 printf '%.1f\n' 1.5
