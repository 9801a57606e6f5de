# Output of the shell and its children stays in order, to the last byte.
for n in 1 2 3; do echo "shell $n"; /bin/echo "child $n"; awk "BEGIN { print \"awk $n\" }"; done
printf 'bytes \x00\x01\xff\n'; head -c 100000 /dev/zero | tr '\0' x; printf 'no newline'
