package tune

import (
	"bytes"
	_ "embed" // for the functions of a script
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// scriptHeader begins the files that a script makes. Apply does not take them for its
// own, since no journal knows them.
const scriptHeader = "# Managed by kt tune --script: do not edit. Removing it undoes it.\n"

// The functions of the shell that the rest of a script calls. They read before they write, as Apply does. Those for
// processes and mounts are only in scripts that change some.
var (
	//go:embed script/start.sh
	scriptStart string
	//go:embed script/limit.sh
	scriptLimit string
	//go:embed script/mount.sh
	scriptMount string
)

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
	b.WriteString(scriptStart)
	if o.Now() {
		for _, of := range []struct {
			kind      Kind
			functions string
		}{{Prlimit, scriptLimit}, {Remount, scriptMount}} {
			if slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == of.kind }) {
				b.WriteString("\n" + of.functions)
			}
		}
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
			fmt.Fprintf(&b, "kt_own %s <<'KT_END'\n%sKT_END\n", quote(f.Path), f.content(scriptHeader))
		}
		for _, r := range reloads {
			if slices.ContainsFunc(files, r.reads) {
				fmt.Fprintf(&b, "if [ -z \"$KT_ROOT$KT_CHECK\" ] && [ -d %s ]; then\n\t%s || kt_failed '%s'\nfi\n", r.running, r.command, r.command)
			}
		}
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

// reloads are the commands that let systemd and udev see that their files have changed, and the folder that is there while
// they run.
var reloads = []struct {
	command, running string
	reads            func(*ownFile) bool
}{
	{"systemctl daemon-reload", "/run/systemd/system", isDropIn},
	{"udevadm control --reload", "/run/udev", isUdevRule},
}

func isDropIn(f *ownFile) bool   { return strings.HasPrefix(f.Path, "/etc/systemd/system/") }
func isUdevRule(f *ownFile) bool { return path.Dir(f.Path) == path.Dir(UdevFile) }

// scriptUndo are the commands that put everything back, as comments.
func scriptUndo(changes []Change, files []*ownFile, o ApplyOptions) string {
	text := "\n# To undo it:\n"
	for _, f := range files {
		text += "#   rm -f " + quote(f.Path) + "\n"
	}
	for _, r := range reloads {
		if slices.ContainsFunc(files, r.reads) {
			text += "#   " + r.command + "\n"
		}
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
