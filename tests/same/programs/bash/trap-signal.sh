# A trapped signal runs its trap after the command; another one ends the script.
trap 'echo term; trap - TERM; kill -TERM $$' TERM
echo begin
kill -TERM $$
echo never
