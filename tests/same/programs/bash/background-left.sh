# What is left in the background with no stream of the script's does not hold it.
sleep 600 >/dev/null 2>&1 </dev/null &
echo end
