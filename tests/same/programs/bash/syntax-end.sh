# An end of the file inside a construct or a quote is told.
echo "before"
while true; do
	echo "unclosed
