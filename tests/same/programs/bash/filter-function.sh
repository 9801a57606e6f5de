# A function filters a group's output, and the code is the script's own.
log() { while IFS= read -r l; do printf '%s %s\n' "[x]" "$l"; done; }
{ echo one; echo two; echo three; } > >(log)
exit 3
