package study

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// partsDir holds the folders of the parts of a study.
const partsDir = "parts"

// part returns the folder of a part, which may not be there yet.
func (f *Folder) part(s *Study) *Folder {
	return &Folder{ID: f.ID + "/" + s.Name, Study: s, dir: filepath.Join(f.dir, partsDir, s.Name)}
}

// begun returns the folders of the parts that were begun, in their order. An error is of those that cannot be read.
func (f *Folder) begun() (parts []*Folder, err error) {
	for _, s := range f.Study.Parts {
		p := f.part(s)
		if !IsFolder(p.dir) {
			continue
		}
		p.Study = new(Study) // its peak is filled in
		if bad := p.open(); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		parts = append(parts, p)
	}
	return parts, err
}

// Part opens the folder of a part that was begun.
func (f *Folder) Part(name string) (*Folder, error) {
	parts, err := f.begun()
	var names []string
	for _, p := range parts {
		if p.Study.Name == name {
			return p, nil
		}
		names = append(names, p.Study.Name)
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("study %s: no part %q was begun; there is %q", f.ID, name, names)
}

// Begin opens the folder of a part, or makes it. A part that needs a peak takes the least that the parts before it have
// found. The only part of a study without parts is itself.
func (f *Folder) Begin(part *Study) (*Folder, error) {
	if part == f.Study {
		return f, nil
	}
	p := f.part(part)
	if IsFolder(p.dir) {
		p.Study = new(Study)
		return p, p.open()
	}
	if part.needsPeak() {
		peak, none, err := f.leastPeak()
		if err == nil {
			p.Study, err = part.AtPeak(peak)
		}
		if err != nil {
			return nil, err
		}
		if len(none) > 0 {
			p.Study.About += fmt.Sprintf(" (No rate held in %s, so the peak is of the others.)", strings.Join(none, ", "))
		}
	}
	return p, p.create()
}

// leastPeak returns the least of the rates that were found so far, in records a second, and the searches that found none.
func (f *Folder) leastPeak() (least float64, none []string, err error) {
	parts, err := f.begun()
	if err != nil {
		return 0, nil, err
	}
	for _, p := range parts {
		if p.Study.Find == nil {
			continue
		}
		d, err := p.Find()
		if err != nil {
			return 0, nil, err
		}
		switch peak := d.Peak.RecordsPerSecond; {
		case peak == 0:
			none = append(none, p.Study.Name)
		case least == 0 || peak < least:
			least = peak
		}
	}
	if least == 0 {
		return 0, nil, fmt.Errorf("study %s: a part needs $%s, and no search before it has found a rate that holds: make the study again with --set %s=RATE", f.ID, peakGiven, peakGiven)
	}
	return least, none, nil
}

// leaves returns the folders in which something may have to be put back: the begun parts, or the folder itself.
func (f *Folder) leaves() ([]*Folder, error) {
	if len(f.Study.Parts) == 0 {
		return []*Folder{f}, nil
	}
	return f.begun()
}

// isOpenInParts is IsOpen for a study of parts.
func (f *Folder) isOpenInParts() (bool, error) {
	parts, err := f.begun()
	open := err == nil && len(parts) < len(f.Study.Parts)
	for _, p := range parts {
		one, bad := p.IsOpen()
		open, err = open || one, errors.Join(err, bad)
	}
	return open, err
}
