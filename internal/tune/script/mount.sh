# kt_remount POINT POINT-AS-THE-KERNEL-WRITES-IT ATIME OPTION: all others stay.
kt_remount() {
	if [ -n "$KT_ROOT" ]; then
		printf 'skipped    mount %s: it is not below KT_ROOT\n' "$1"
		return 0
	fi
	kt_options=
	while read -r kt_id kt_parent kt_device kt_part kt_point kt_these kt_rest; do
		[ "$kt_point" != "$2" ] || kt_options=$kt_these
	done </proc/self/mountinfo
	if [ -z "$kt_options" ]; then
		kt_failed "mount $1: it is no mount point"
		return 0
	fi
	kt_others=$(printf '%s\n' "$kt_options" | sed 's/,noatime//; s/,relatime//; s/,idmapped//')
	kt_now=strictatime
	case ,$kt_options, in
	*,noatime,*) kt_now=noatime ;;
	*,relatime,*) kt_now=relatime ;;
	esac
	if [ "$kt_now" = "$3" ]; then
		printf 'unchanged  mount %s: %s\n' "$1" "$3"
	elif [ -n "$KT_CHECK" ]; then
		printf 'would change mount %s: %s -> %s\n' "$1" "$kt_now" "$3"
	elif mount -o "remount,bind,$kt_others,$4" "$1"; then
		printf 'changed    mount %s: %s -> %s\n' "$1" "$kt_now" "$3"
	else
		kt_failed "mount $1: it cannot be mounted again with $3"
	fi
}
