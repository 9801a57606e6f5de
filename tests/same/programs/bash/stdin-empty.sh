# Without standard input a read ends at once.
read -r x; echo "$? <$x>"
cat; wc -c
read -t 5 -r x; echo $?
select w in a b; do echo "$w"; done; echo "$?"
python3 -c 'import sys; print(len(sys.stdin.read()))'
