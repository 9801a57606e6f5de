# A syntax error is told when the shell comes to it, with the line.
echo "before"
if true; then
	echo "inside"
done
echo never
