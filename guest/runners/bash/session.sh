# SPDX-License-Identifier: Apache-2.0
# The living bash: it runs one step after another. Descriptor 3 is the control
# socket; see guest/runners/python/session.py for what is said there. It moves to
# 250, close-on-exec, where few programs look for a descriptor.
#
# A step is read with `.` outside any function, so that what it declares is
# global. exit is a function, which leaves all functions and files up to here as
# return would. Where that would be seen (the program has traps, or it is no
# command that exits, as under set -e) the shell does end: its EXIT trap ends the
# step, continues in a subshell, which has all variables, and waits for that.
# A program's own EXIT trap runs in a subshell at the end of the step that has set
# it, as a script's would, and is forgotten. With `builtin trap` or `exec` a
# program can end its session.
#
# An interrupt is SIGINT to the shell and its foreground. Its trap ends the step as
# `exit 130` does, unless the program has a trap of its own.
#
# set -e, -u, -x, -v and pipefail are how one script wants to be run and are off
# when a step begins; all other options stay as they are.
if [[ ! -v fsd_runner ]]; then
	unset BASH_ENV
	fsd_runner=${BASH_SOURCE[0]} fsd_file='' fsd_exit=''
	fsd_left='' fsd_traced='' fsd_runs='' fsd_missed=''
	fsd_names=() fsd_were=() fsd_marks=()
	# bash keeps 3 in 10 meanwhile, and gives its copy the same flag.
	{ exec 250<&10; } 3<&-
	exec 3<&-
	[[ $fsd_runner == /* ]] || fsd_runner=$PWD/$fsd_runner

	# Prints the traps of these signals, or all: the program's own.
	fsd_show() {
		local name own names=("$@")
		[[ $# != 0 ]] || builtin mapfile -t names < <(builtin compgen -A signal)
		for name in "${names[@]}"; do
			own=''
			case ${name^^} in
			0 | EXIT | SIGEXIT) own=$(builtin trap -p EXIT) ;;
			2 | INT | SIGINT)
				own=$(builtin trap -p INT)
				[[ $own != *fsd_interrupt* ]] || continue
				;;
			esac
			if [[ $own != *fsd_runner* ]]; then
				builtin trap -p "$name" || return
			elif [[ $fsd_exit ]]; then
				builtin printf 'trap -- %s EXIT\n' "${fsd_exit@Q}"
			fi
		done
	}

	# An EXIT trap is kept for the step's end; all others are bash's affair.
	trap() {
		if [[ $# == 0 || $1 == -p ]]; then
			fsd_show "${@:2}"
			return
		fi
		if [[ $BASHPID != "$fsd_pid" || $1 == -[lp]* ]]; then
			# shellcheck disable=SC2064
			builtin trap "$@"
			return
		fi
		[[ $1 != -- ]] || shift
		[[ $# != 1 ]] || builtin set -- - "$1"
		local action=$1 name others=()
		shift
		for name; do
			case ${name^^} in
			0 | EXIT | SIGEXIT) fsd_exit=$action ;;
			*) others+=("$name") ;;
			esac
		done
		case $fsd_exit in
		- | *fsd_runner*) fsd_exit='' ;;
		esac
		[[ ${#others[@]} != 0 ]] || return 0
		fsd_traced=1
		builtin trap -- "$action" "${others[@]}" || return
		[[ $(builtin trap -p INT) ]] || builtin trap fsd_interrupt INT
	}

	# A read continues after a trap: it must find no more input.
	# shellcheck disable=SC2317
	fsd_interrupt() {
		if [[ $fsd_runs ]]; then
			exec </dev/null
			exit 130
		fi
		fsd_missed=1
	}

	# With extdebug, a DEBUG trap that returns 2 makes bash return from where
	# it is, before each command until it is here again.
	exit() {
		local code=${1-$?}
		if [[ $BASHPID != "$fsd_pid" || $fsd_traced || $- == *[ET]* ||
		      $# -gt 1 || ! $code =~ ^[0-9]{1,9}$ ]] ||
		   builtin shopt -q extdebug; then
			builtin exit "${@-$code}"
		fi
		{ builtin set +ex; } 2>/dev/null
		# shellcheck disable=SC2034
		fsd_left=$((10#$code & 255)) # for fsd_after
		builtin shopt -s extdebug
		builtin trap fsd_unwind DEBUG
	}

	fsd_unwind() {
		[[ ${#FUNCNAME[@]} -le $fsd_depth ]] || return 2
	}

	fsd_measure() {
		fsd_depth=${#FUNCNAME[@]}
	}

	fsd_is() {
		return "$1"
	}

	# The step, if one runs, ends with $?. fsd_file is empty between steps.
	fsd_end() {
		fsd_code=$?
		builtin set +euxvn +o pipefail
		[[ $fsd_file ]] || return 0
		if [[ $fsd_exit ]]; then
			# It may exit, and that shall not end this shell.
			(
				fsd_is "$fsd_code"
				builtin eval "$fsd_exit"
				builtin exit "$fsd_code"
			)
			fsd_code=$? fsd_exit=''
		fi
		fsd_file=''
		exec </dev/null >/dev/null 2>&1
		fsd_put_back
		builtin printf -v fsd_code '\\%o' "$fsd_code"
		# shellcheck disable=SC2059
		builtin printf "E$fsd_code" >&250
	}

	# The step's variables, of which fsd_put_back knows what they were.
	fsd_set() {
		while IFS= builtin read -r -d '' fsd_text; do
			fsd_name=${fsd_text%%=*}
			fsd_names+=("$fsd_name") fsd_were+=("${!fsd_name-}")
			fsd_marks+=("${!fsd_name+=}${!fsd_name@a}")
			builtin export "${fsd_text?}"
		done
	}

	fsd_put_back() {
		for fsd_i in "${!fsd_names[@]}"; do
			fsd_name=${fsd_names[fsd_i]}
			if [[ ${fsd_marks[fsd_i]} == =*x* ]]; then
				builtin export "$fsd_name=${fsd_were[fsd_i]}"
			elif [[ ${fsd_marks[fsd_i]} == =* ]]; then
				builtin export -n "$fsd_name=${fsd_were[fsd_i]}"
			else
				builtin unset -v "$fsd_name"
			fi
		done
		fsd_names=() fsd_were=() fsd_marks=()
	}

	# Return: is there another step?
	fsd_turn() {
		fsd_end
		# TMOUT is for what the program reads.
		IFS=' ' builtin read ${TMOUT:+-t9999999} -r _ _ \
			fsd_file fsd_dir <&250 || return
		exec <"$fsd_dir/in" >"$fsd_dir/out" 2>"$fsd_dir/err"
		fsd_missed=''
		builtin printf S >&250
		fsd_args=()
		[[ ! -e $fsd_dir/args ]] || builtin mapfile -d '' fsd_args <"$fsd_dir/args"
		[[ ! -e $fsd_dir/env ]] || fsd_set <"$fsd_dir/env"
		BASH_ARGV0=$fsd_file
		fsd_text=$fsd_dir/${fsd_file##*/}
		[[ ! -f $fsd_text ]] || fsd_file=$fsd_text
		if [[ -e $fsd_dir/cwd ]]; then
			IFS= builtin read -r -d '' fsd_text <"$fsd_dir/cwd"
			builtin cd -- "$fsd_text" || return 0
		fi
	}
	builtin printf R >&250
fi
fsd_pid=$BASHPID
# A subshell has forgotten the traps, but knows them until it sets one.
if [[ $fsd_traced ]]; then
	builtin eval "$(builtin trap -p)"
else
	builtin trap fsd_interrupt INT
fi
fsd_measure
# The first thing after a step, when its options and exit's trap still stand.
fsd_after='fsd_code=${fsd_left:-$?} fsd_runs=""
	[[ -z $fsd_left ]] || { builtin trap - DEBUG; builtin shopt -u extdebug; }
	builtin set +ex
	fsd_left=""
	fsd_is "$fsd_code"'
# shellcheck disable=SC2064
builtin trap "{ $fsd_after; } 2>/dev/null"'
	fsd_end; ( . "$fsd_runner" )' EXIT
while fsd_turn; do
	builtin set -- "${fsd_args[@]}"
	fsd_runs=1
	if [[ ! $fsd_missed ]]; then
		# shellcheck source=/dev/null
		. "$fsd_file"
	else
		# shellcheck disable=SC2034
		fsd_left=130 # for fsd_after
	fi
	{ builtin eval "$fsd_after"; } 2>/dev/null
done
# A program's `continue` turns the loop, as its end does; `break` leaves it.
[[ ! $fsd_file ]] || builtin exit 0
builtin trap - EXIT
builtin exit 0
