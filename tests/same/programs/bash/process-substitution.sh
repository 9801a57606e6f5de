# Commands are read from and written to as files.
diff <(printf '1\n2\n') <(printf '1\n3\n')
echo "diff: $?"
paste <(seq 3) <(seq 4 6)
while read -r x; do sum=$((sum + x)); done < <(seq 10)
echo "$sum" >(cat >/dev/null) | grep -c /dev/fd
wait $!
echo "$?"
