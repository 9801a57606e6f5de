# Arrays by number and by name, slices, keys and sorting.
a=(one "two words" three); a+=(four); a[7]=eight
echo "${#a[@]} ${!a[*]} ${a[-1]} ${a[@]:1:2}"
declare -A m=([k]=v ["a b"]="c d"); m[new]=1
for k in "${!m[@]}"; do echo "$k=${m[$k]}"; done | sort
unset 'a[0]' 'm[k]'; echo "${a[*]}" "${#m[@]}" "${m[k]-gone}"
mapfile -t sorted < <(printf '%s\n' "${a[@]}" | sort); printf '<%s>' "${sorted[@]}"; echo
readarray -d , -t parts <<<"x,y,z"; declare -p parts
f() { local -n ref=$1; ref+=(added); }; f a; echo "${a[@]: -1}"
echo "${a[@]/o/0}" "${a[@]^^}" "${a[*]@Q}"
declare -i n=5; n+=3; declare -r c=1; declare -p n c
