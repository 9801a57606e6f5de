# What a child writes just after the script's end is kept.
(sleep 0.2; echo late; echo later >file) &
echo early
