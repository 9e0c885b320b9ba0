package manifest

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Limits of an instruction folder (seed 003 "Skills").
const (
	maxSkillText  = 96 << 10 // bytes of SKILL.md
	maxSkillFile  = 64 << 10 // bytes of each other file
	maxSkillFiles = 100
)

// front is the front matter of a SKILL.md as agentskills.io defines it; any
// other key is an error.
type front struct {
	Name          string            `yaml:"name" json:"name"`
	Description   string            `yaml:"description" json:"description"`
	License       string            `yaml:"license" json:"license"`
	Compatibility string            `yaml:"compatibility" json:"compatibility"`
	Metadata      map[string]string `yaml:"metadata" json:"metadata"`
	AllowedTools  string            `yaml:"allowed-tools" json:"allowed-tools"`
}

var instructionName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// LoadInstruction reads a skill folder: SKILL.md with its front matter, and the
// files beside it. The manifest is derived; its Content digest covers every
// file, so that a changed file is a changed skill. The entry's Content is the
// Markdown below the front matter. allowed-tools grants nothing: what an agent
// may call is said by its own definition.
//
// folder is the folder's name, which must equal the front matter's name; label
// is the taint of the text.
func LoadInstruction(folder string, files fs.FS, label event.Label) (Entry, error) {
	raw, err := fs.ReadFile(files, "SKILL.md")
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, fault.New(fault.NotFound, "%s has no SKILL.md", folder)
	}
	if err != nil {
		return Entry{}, fault.New(fault.Unavailable, "read %s/SKILL.md: %w", folder, err)
	}
	f, body, err := parseInstruction(raw)
	if err != nil {
		return Entry{}, err
	}
	if f.Name != folder {
		return Entry{}, fault.New(fault.Invalid, "the name %q is not the folder's name %q", f.Name, folder).On("name")
	}
	parts, err := folderParts(files)
	if err != nil {
		return Entry{}, err
	}
	content := DigestContent(parts...)
	m := Manifest{Name: f.Name, Version: version(f, content), Kind: Instruction, Description: f.Description,
		Risk: RiskNone, Access: Read, Class: ClassRead, OutputLabel: max(label.Integrity(), event.Outside).String(), Content: content}
	if m.OutputLabel == event.Person.String() {
		m.OutputLabel = event.House.String()
	}
	if err := m.Validate(); err != nil {
		return Entry{}, err
	}
	h, err := m.Hash()
	return Entry{Manifest: m, Hash: h, Content: body, Label: label}, err
}

// version is the author's metadata.version, or a name for the content.
func version(f front, content string) string {
	if v := f.Metadata["version"]; versionText.MatchString(v) {
		return v
	}
	return content[:12]
}

// parseInstruction splits a SKILL.md and checks its front matter.
func parseInstruction(raw []byte) (front, []byte, error) {
	var f front
	bad := func(field, format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).On(field)
	}
	if len(raw) > maxSkillText {
		return f, nil, fault.New(fault.Limited, "SKILL.md has at most %d bytes", maxSkillText)
	}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return f, nil, fault.New(fault.Invalid, "SKILL.md is not UTF-8 text")
	}
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(raw, []byte("---\n"))
	if !ok {
		return f, nil, fault.New(fault.Invalid, "line 1: SKILL.md begins with --- and its front matter")
	}
	head, body, ok := bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		if head, ok = bytes.CutSuffix(rest, []byte("\n---")); !ok {
			return f, nil, fault.New(fault.Invalid, "the front matter has no closing ---")
		}
		body = nil
	}
	// A line of padding keeps line numbers those of the file.
	if _, err := decodeStrict(append([]byte("\n"), head...), &f); err != nil {
		return f, nil, err
	}
	switch {
	case len(f.Name) > 64 || !instructionName.MatchString(f.Name):
		return f, nil, bad("name", "%q: 1 to 64 lower-case letters, digits and single hyphens between them", f.Name)
	case strings.TrimSpace(f.Description) == "" || len(f.Description) > maxDescription:
		return f, nil, bad("description", "a description has 1 to %d bytes", maxDescription)
	case len(f.Compatibility) > 500:
		return f, nil, bad("compatibility", "at most 500 bytes")
	}
	return f, bytes.TrimSpace(body), nil
}

// folderParts returns path and bytes of every file, sorted by path.
func folderParts(files fs.FS) ([][]byte, error) {
	var names []string
	err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fault.New(fault.Invalid, "%s is no plain file", p).On(p)
		case strings.HasPrefix(path.Base(p), "."):
			return nil
		}
		names = append(names, p)
		if len(names) > maxSkillFiles {
			return fault.New(fault.Limited, "a skill folder has at most %d files", maxSkillFiles)
		}
		return nil
	})
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "read skill folder")
	}
	slices.Sort(names)
	var parts [][]byte
	for _, n := range names {
		b, err := fs.ReadFile(files, n)
		if err != nil {
			return nil, fault.New(fault.Unavailable, "read %s: %w", n, err)
		}
		if n != "SKILL.md" && len(b) > maxSkillFile {
			return nil, fault.New(fault.Limited, "a skill's file has at most %d bytes", maxSkillFile).On(n)
		}
		parts = append(parts, []byte(n), b)
	}
	return parts, nil
}
