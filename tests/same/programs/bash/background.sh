# Jobs in the background are waited for, with their codes.
sleep 0.05 & first=$!
(exit 7) & second=$!
wait $second; echo "second $?"
wait $first; echo "first $?"
wait; echo "all $?"
{ echo from a group; } &
wait
(exit 4) & wait $!; echo "last $?"
wait 99999; echo "$?"
