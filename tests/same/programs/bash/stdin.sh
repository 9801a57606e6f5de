# The script and its commands share standard input.
read -r first; echo "first $first"
head -n 1
while IFS=, read -r name n rest; do echo "$name=$n"; done
read -r none; echo "end $? <$none>"
[ -t 0 ]; echo $?
