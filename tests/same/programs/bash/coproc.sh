# A coprocess answers what it is asked.
coproc BC { bc -l; }
echo '2^10' >&"${BC[1]}"; read -r x <&"${BC[0]}"; echo "$x"
echo 'scale=5; 1/3' >&"${BC[1]}"; read -r x <&"${BC[0]}"; echo "$x"
pid=$BC_PID; eval "exec ${BC[1]}>&-"; wait "$pid"; echo "$?"
