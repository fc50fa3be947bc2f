# kt_limit PID START SOFT HARD: only of the process that started then.
kt_limit() {
	if [ -n "$KT_ROOT" ]; then
		printf 'skipped    process %s: it is not below KT_ROOT\n' "$1"
		return 0
	fi
	kt_stat=$(cat "/proc/$1/stat" 2>/dev/null) || kt_stat=
	kt_began=$(
		set -- ${kt_stat##*) }
		[ $# -lt 20 ] || shift 19
		printf '%s' "${1:-}"
	)
	if [ "$kt_began" != "$2" ]; then
		printf 'skipped    process %s: it has ended\n' "$1"
		return 0
	fi
	kt_now=$(
		set -- $(sed -n 's/^Max open files//p' "/proc/$1/limits")
		printf '%s:%s' "${1:-}" "${2:-}"
	)
	if [ "$kt_now" = "$3:$4" ]; then
		printf 'unchanged  process %s: open files %s\n' "$1" "$kt_now"
	elif [ -n "$KT_CHECK" ]; then
		printf 'would change process %s: open files %s -> %s:%s\n' "$1" "$kt_now" "$3" "$4"
	elif prlimit --pid "$1" "--nofile=$3:$4"; then
		printf 'changed    process %s: open files %s -> %s:%s\n' "$1" "$kt_now" "$3" "$4"
	else
		kt_failed "process $1: its limit of open files cannot be set"
	fi
}
