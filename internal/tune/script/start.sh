#!/bin/sh
# Written by kt tune --script: what kt tune --apply would do there.
# It may be run again: it leaves values that are as wanted. It ends with 1 if something
# could not be done. Its last lines say how to undo it.
#
#   KT_ROOT=/mnt   changes files below another folder
#   KT_FORCE=1     also writes values that are neither the old ones nor the new ones
#   KT_CHECK=1     says what it would change, and changes nothing
set -euf
KT_ROOT=${KT_ROOT:-}
KT_FORCE=${KT_FORCE:-}
KT_CHECK=${KT_CHECK:-}
kt_status=0

kt_failed() {
	printf 'failed     %s\n' "$1" >&2
	kt_status=1
}

# kt_value FILE: the word in brackets, or the words with one space between them.
kt_value() {
	kt_text=$(cat "$1") || return 1
	case $kt_text in
	*\[*\]*)
		kt_text=${kt_text#*\[}
		kt_text=${kt_text%%\]*}
		;;
	esac
	set -- $kt_text
	printf '%s' "$*"
}

# kt_write FILE OLD NEW
kt_write() {
	kt_file=$KT_ROOT$1
	if [ ! -f "$kt_file" ]; then
		kt_failed "$1: it is not there"
		return 0
	fi
	kt_now=$(kt_value "$kt_file") || {
		kt_failed "$1: it cannot be read"
		return 0
	}
	if [ "$kt_now" = "$3" ]; then
		printf 'unchanged  %s: %s\n' "$1" "$3"
		return 0
	fi
	if [ "$kt_now" != "$2" ] && [ -z "$KT_FORCE" ]; then
		kt_failed "$1: it was '$2' when this script was written and is '$kt_now'"
		return 0
	fi
	if [ -n "$KT_CHECK" ]; then
		printf 'would change %s: %s -> %s\n' "$1" "$kt_now" "$3"
	elif ! printf '%s\n' "$3" 2>/dev/null >"$kt_file"; then
		kt_failed "$1: it does not take '$3'"
	elif [ "$(kt_value "$kt_file")" != "$3" ]; then
		kt_failed "$1: the kernel made '$(kt_value "$kt_file")' of '$3'"
		[ "$kt_now" = 0 ] || printf '%s\n' "$kt_now" >"$kt_file" || :
	else
		printf 'changed    %s: %s -> %s\n' "$1" "$kt_now" "$3"
	fi
}

# kt_folder FOLDER: makes it, and those that it is in, and says so.
kt_folder() {
	if [ -z "$1" ] || [ -d "$KT_ROOT$1" ]; then
		return 0
	fi
	kt_folder "${1%/*}" || return 1
	(umask 022 && mkdir "$KT_ROOT$1") || return 1
	printf 'made       %s\n' "$1"
}

# kt_own FILE <content: a file that a script made before may be replaced, no other. One that an apply made is left, and may have
# the same lines.
kt_own() {
	kt_file=$KT_ROOT$1
	kt_new=$(cat)
	if [ -f "$kt_file" ] && [ "$(sed 1d "$kt_file")" = "$(printf '%s\n' "$kt_new" | sed 1d)" ]; then
		printf 'unchanged  %s\n' "$1"
		return 0
	fi
	if [ -e "$kt_file" ] || [ -h "$kt_file" ]; then
		kt_first=
		[ -h "$kt_file" ] || read -r kt_first <"$kt_file" || :
		case $kt_first in
		'# Managed by kt tune --script:'*) ;;
		'# Managed by kt tune:'*)
			kt_failed "$1: kt tune --apply made it with other lines: kt tune --rollback there first"
			return 0
			;;
		*)
			kt_failed "$1: there is such a file, and no script of kt's made it"
			return 0
			;;
		esac
	fi
	if [ -n "$KT_CHECK" ]; then
		printf 'would change %s\n' "$1"
	elif kt_folder "${1%/*}" &&
		printf '%s\n' "$kt_new" >"$kt_file.kt-new" &&
		chmod 0644 "$kt_file.kt-new" &&
		mv -f "$kt_file.kt-new" "$kt_file"; then
		printf 'changed    %s\n' "$1"
	else
		rm -f "$kt_file.kt-new"
		kt_failed "$1: it cannot be written"
	fi
}
