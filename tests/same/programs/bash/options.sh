# The shell's options, names and variables are those of a script.
echo "$-" "$0" "$#" "$BASH_SOURCE" "$BASH_SUBSHELL" "$SHLVL" "$LINENO"
shopt | grep -w on
set -o | grep -w on
echo "${BASH_VERSINFO[*]}" "$BASH" "$PWD" "$OLDPWD" "$IFS" "$PS4" "$OPTIND" "$UID" "$EUID" "$HOSTNAME" "$OSTYPE"
echo "$_" "$PPID" "$$" | tr -dc ' \n' | wc -c
echo "${FUNCNAME[@]}" "${BASH_ARGV[@]}" "${BASH_LINENO[@]}" "${DIRSTACK[@]}" "${GROUPS[@]}"
umask; ulimit -Sn; ulimit -s; ulimit -t
declare -F; alias; declare -x
compgen -v | grep -vE '^(BASHPID|RANDOM|SRANDOM|SECONDS|EPOCH)' | sort | tr '\n' ' '
