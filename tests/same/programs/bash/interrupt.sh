# SIGINT ends the script, with 130.
echo before
kill -INT $$
echo never
