# A script with the line ends of Windows fails as it always does.
echo one
if true; then echo two; fi
