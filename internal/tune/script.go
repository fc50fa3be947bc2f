package tune

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// scriptHeader begins the files that a script makes. Apply does not take them for its
// own, since no journal knows them.
const scriptHeader = "# Managed by kt tune --script: do not edit. Removing it undoes it.\n"

const scriptStart = `#!/bin/sh
# Written by kt tune --script: what kt tune --apply would do there.
# It may be run again: it leaves values that are as wanted. It ends with 1 if something
# could not be done. Its last lines say how to undo it.
#
#   KT_ROOT=/mnt   changes files below another folder
#   KT_FORCE=1     also writes values that are neither the old ones nor the new ones
`

// scriptFunctions are the functions of the shell that the rest of a script calls. They
// read before they write, as Apply does.
const scriptFunctions = `set -euf
KT_ROOT=${KT_ROOT:-}
KT_FORCE=${KT_FORCE:-}
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
	if ! printf '%s\n' "$3" 2>/dev/null >"$kt_file"; then
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

# kt_own FILE <content: a file that kt made before may be replaced, no other.
kt_own() {
	kt_file=$KT_ROOT$1
	kt_new=$(cat)
	if [ -f "$kt_file" ] && [ "$(cat "$kt_file")" = "$kt_new" ]; then
		printf 'unchanged  %s\n' "$1"
		return 0
	fi
	if [ -e "$kt_file" ] || [ -h "$kt_file" ]; then
		kt_first=
		[ -h "$kt_file" ] || read -r kt_first <"$kt_file" || :
		case $kt_first in
		'# Managed by kt tune --script:'*) ;;
		*)
			kt_failed "$1: there is such a file, and no script of kt's made it"
			return 0
			;;
		esac
	fi
	if kt_folder "${1%/*}" &&
		printf '%s\n' "$kt_new" >"$kt_file.kt-new" &&
		chmod 0644 "$kt_file.kt-new" &&
		mv -f "$kt_file.kt-new" "$kt_file"; then
		printf 'changed    %s\n' "$1"
	else
		rm -f "$kt_file.kt-new"
		kt_failed "$1: it cannot be written"
	fi
}
`

const scriptProcess = `
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
	elif prlimit --pid "$1" "--nofile=$3:$4"; then
		printf 'changed    process %s: open files %s -> %s:%s\n' "$1" "$kt_now" "$3" "$4"
	else
		kt_failed "process $1: its limit of open files cannot be set"
	fi
}
`

const scriptMount = `
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
	kt_others=$(printf '%s\n' "$kt_options" | sed '` + otherOptions + `')
	kt_now=strictatime
	case ,$kt_options, in
	*,noatime,*) kt_now=noatime ;;
	*,relatime,*) kt_now=relatime ;;
	esac
	if [ "$kt_now" = "$3" ]; then
		printf 'unchanged  mount %s: %s\n' "$1" "$3"
	elif mount -o "remount,bind,$kt_others,$4" "$1"; then
		printf 'changed    mount %s: %s -> %s\n' "$1" "$kt_now" "$3"
	else
		kt_failed "mount $1: it cannot be mounted again with $3"
	fi
}
`

// otherOptions has sed take from the options of a mount, of which the first is rw or
// ro, how access times are kept. That it is idmapped stays by itself.
const otherOptions = "s/,noatime//; s/,relatime//; s/,idmapped//"

// Script writes changes as a script for any POSIX shell, which does what Apply would
// do, but for a journal: it says at its end how to undo it. What the kernel refuses it
// keeps for the next start all the same. Writing it changes nothing.
func Script(w io.Writer, changes []Change, o ApplyOptions) error {
	if err := checkChanges(changes); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(scriptStart + scriptFunctions)
	kinds := func(k Kind) bool { return slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == k }) }
	if o.Now() && kinds(Prlimit) {
		b.WriteString(scriptProcess)
	}
	if o.Now() && kinds(Remount) {
		b.WriteString(scriptMount)
	}
	if o.Now() {
		b.WriteString("\n# Now.\n")
		for i := range changes {
			b.WriteString(scriptNow(&changes[i]))
		}
	}
	var files []*ownFile
	if o.Later() {
		files = new(journal).merge(changes)
		if len(files) > 0 {
			b.WriteString("\n# For the next start.\n")
		}
		for _, f := range files {
			content := f.content(scriptHeader)
			end := delimiter(content)
			fmt.Fprintf(&b, "kt_own %s <<'%s'\n%s%s\n", quote(f.Path), end, content, end)
		}
		b.WriteString(scriptReload(files))
	}
	b.WriteString(scriptUndo(changes, files, o))
	b.WriteString("\nexit \"$kt_status\"\n")
	_, err := w.Write(b.Bytes())
	return err
}

// scriptNow is the line that makes one change; "" for one that is only for later.
func scriptNow(c *Change) string {
	switch c.Kind {
	case WriteFile:
		return fmt.Sprintf("kt_write %s %s %s\n", quote(c.Path), quote(normal(c.Old)), quote(normal(c.New)))
	case Prlimit:
		soft, hard, _ := strings.Cut(normal(c.New), " ")
		return fmt.Sprintf("kt_limit %d %d %s %s\n", c.PID, c.Start, quote(soft), quote(hard))
	case Remount:
		return fmt.Sprintf("kt_remount %s %s %s %s\n", quote(c.Path), quote(mountEscape(c.Path)), quote(c.New), mountOption(c.New))
	case KeepOnly:
	}
	return ""
}

// The commands that let systemd and udev see that their files have changed.
const (
	readUnits = "systemctl daemon-reload"
	readRules = "udevadm control --reload"
)

// scriptReload lets those programs read kt's files that do not do it by themselves.
func scriptReload(files []*ownFile) string {
	text := ""
	if slices.ContainsFunc(files, isDropIn) {
		text += "if [ -z \"$KT_ROOT\" ] && [ -d /run/systemd/system ]; then\n\t" + readUnits + " || kt_failed '" + readUnits + "'\nfi\n"
	}
	if slices.ContainsFunc(files, isUdevRule) {
		text += "if [ -z \"$KT_ROOT\" ] && [ -d /run/udev ]; then\n\t" + readRules + " || kt_failed '" + readRules + "'\nfi\n"
	}
	return text
}

func isDropIn(f *ownFile) bool   { return strings.HasPrefix(f.Path, "/etc/systemd/system/") }
func isUdevRule(f *ownFile) bool { return path.Dir(f.Path) == path.Dir(UdevFile) }

// scriptUndo are the commands that put everything back, as comments.
func scriptUndo(changes []Change, files []*ownFile, o ApplyOptions) string {
	text := "\n# To undo it:\n"
	for _, f := range files {
		text += "#   rm -f " + quote(f.Path) + "\n"
	}
	if slices.ContainsFunc(files, isDropIn) {
		text += "#   " + readUnits + "\n"
	}
	if slices.ContainsFunc(files, isUdevRule) {
		text += "#   " + readRules + "\n"
	}
	for _, c := range slices.Backward(changes) {
		if o.Now() {
			text += scriptBack(&c)
		}
	}
	if len(files) > 0 {
		text += "# And of these folders the ones that it said it made:\n"
	}
	var seen []string
	for _, f := range files {
		if dir := path.Dir(f.Path); !slices.Contains(seen, dir) {
			seen = append(seen, dir)
			text += "#   rmdir" + foldersBelowEtc(dir) + "\n"
		}
	}
	return text
}

// foldersBelowEtc are a folder and those that it is in, as words of the shell.
func foldersBelowEtc(dir string) string {
	words := ""
	for ; strings.HasPrefix(dir, "/etc/"); dir = path.Dir(dir) {
		words += " " + quote(dir)
	}
	return words
}

func scriptBack(c *Change) string {
	old, file := normal(c.Old), c.Path
	switch c.Kind {
	case WriteFile:
		if c.Pair != "" && old == "0" {
			old, file = normal(c.PairOld), c.Pair
		}
		return fmt.Sprintf("#   printf '%%s\\n' %s >%s\n", quote(old), quote(file))
	case Prlimit:
		return fmt.Sprintf("#   prlimit --pid %d --nofile=%s\n", c.PID, quote(strings.Replace(old, " ", ":", 1)))
	case Remount:
		return fmt.Sprintf("#   kt_others=$(findmnt -nro VFS-OPTIONS -M %s | sed '$!d; %s')\n"+
			"#   mount -o \"remount,bind,${kt_others:?},%s\" %s\n", quote(c.Path), otherOptions, mountOption(old), quote(c.Path))
	case KeepOnly:
	}
	return ""
}

// quote is a text as one word of the shell, whatever is in it.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// delimiter is a word that is no line of a text.
func delimiter(text string) string {
	end := "KT_END"
	for slices.Contains(strings.Split(text, "\n"), end) {
		end += "_"
	}
	return end
}

// mountOption is what mount(8) is told. It adds to what is there, where noatime beats
// relatime, so noatime is taken away first.
func mountOption(atime string) string {
	if atime == "noatime" {
		return atime
	}
	return "atime," + atime
}

// mountEscape is a mount point as mountinfo has it, with some characters as octal
// numbers. Those that [checkPath] refuses are left out.
func mountEscape(p string) string {
	return strings.NewReplacer(" ", `\040`, `\`, `\134`).Replace(p)
}
