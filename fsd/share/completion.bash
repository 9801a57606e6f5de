# SPDX-License-Identifier: Apache-2.0
#
# Completion of fsd for bash(1). The program knows its own commands, options and
# jobs: `fsd complete N WORD...` prints what may stand as word N. Its lines
# ":files" and ":dirs" ask for names of files.
#
# It is the fsd of $PATH that is asked, whatever the command line begins with: TAB
# behind "./fsd" must not run a program of a directory that somebody else has filled.

_fsd() {
	local cur=${COMP_WORDS[COMP_CWORD]} line program
	COMPREPLY=()
	program=$(type -P fsd) || return 0
	[ "${program:0:1}" = / ] || return 0 # of a directory like "." in $PATH
	[ "$cur" != = ] || cur=
	while IFS= read -r line; do
		case $line in
		:files)
			compopt -o filenames
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
			;;
		:dirs)
			compopt -o filenames
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur")
			;;
		*)
			COMPREPLY+=("$(printf %q "$line")")
			;;
		esac
	done < <("$program" complete "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null)
}

complete -F _fsd fsd
