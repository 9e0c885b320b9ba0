package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

type (
	fileRead  struct{ files *Files }
	fileList  struct{ files *Files }
	fileWrite struct{ files *Files }
)

// content is a whole file.
type content struct {
	text []byte
	sum  string // SHA-256, hexadecimal
	mode fs.FileMode
}

// load reads a regular file.
func load(root *os.Root, p string) (content, error) {
	info, err := stat(root, p)
	if err != nil {
		return content{}, err
	}
	if !info.Mode().IsRegular() {
		return content{}, fault.New(fault.Invalid, "%q is not a file", p).On("path")
	}
	in, err := root.Open(p)
	if err != nil {
		return content{}, fileFault(err)
	}
	defer closing(in)
	if now, err := in.Stat(); err != nil || !os.SameFile(info, now) {
		return content{}, fault.New(fault.Stale, "%q was replaced while it was opened", p).On("path")
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return content{}, fileFault(err)
	}
	if len(text) > maxFile {
		return content{}, fault.New(fault.Limited, "%q has more than %d bytes", p, maxFile).On("path")
	}
	d := sha256.Sum256(text)
	return content{text, hex.EncodeToString(d[:]), info.Mode().Perm()}, nil
}

// Act implements skill.Executable.
func (f fileRead) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
	}
	if err := begin(c, manifest.PermitFiles, &a); err != nil {
		return skill.Output{}, err
	}
	if err := checkFilePath(a.Path); err != nil {
		return skill.Output{}, err
	}
	root, err := f.files.account(c.Account)
	if err != nil {
		return skill.Output{}, err
	}
	defer closing(root)
	file, err := load(root, a.Path)
	if err != nil {
		return skill.Output{}, err
	}
	label, err := labelOf(root, contentKey(file.sum))
	if err != nil {
		return skill.Output{}, err
	}
	switch {
	case !readableBy(label, readers(c)):
		return skill.Output{}, fault.New(fault.Denied, "%q may not be read by everybody the answer goes to", a.Path).On("path")
	case !utf8.Valid(file.text) || slices.Contains(file.text, 0):
		return skill.Output{}, fault.New(fault.Invalid, "%q is no text in UTF-8", a.Path).On("path")
	case a.Offset > len(file.text) || a.Offset < len(file.text) && !utf8.RuneStart(file.text[a.Offset]):
		return skill.Output{}, fault.New(fault.Invalid, "there is no character at %d", a.Offset).On("offset")
	}
	text := string(file.text[a.Offset:])
	part := skill.Prefix(text, maxChunk)
	if part == "" { // one character of more than a chunk
		part = text[:min(len(text), maxChunk)]
	}
	return skill.Output{Label: label, Value: map[string]any{"path": a.Path, "sha256": file.sum, "size": len(file.text), "offset": a.Offset,
		"text": strings.ToValidUTF8(part, ""), "cut": len(part) < len(text)}}, nil
}

// entry is one name in a directory.
type entry struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // file, directory, link, other
	Size int64  `json:"size"`
}

// Act implements skill.Executable.
func (f fileList) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		Path string `json:"path"`
	}
	if err := begin(c, manifest.PermitFiles, &a); err != nil {
		return skill.Output{}, err
	}
	root, err := f.files.account(c.Account)
	if err != nil {
		return skill.Output{}, err
	}
	defer closing(root)
	dir := "."
	if a.Path != "" {
		if err := checkFilePath(a.Path); err != nil {
			return skill.Output{}, err
		}
		info, err := stat(root, a.Path)
		if err != nil {
			return skill.Output{}, err
		}
		if !info.IsDir() {
			return skill.Output{}, fault.New(fault.Invalid, "%q is not a directory", a.Path).On("path")
		}
		dir = a.Path
	}
	entries, labels, more, err := list(root, dir, readers(c))
	if err != nil {
		return skill.Output{}, err
	}
	return skill.Output{Value: map[string]any{"entries": entries, "more": more}, Label: event.Join(append(labels, ownFile())...)}, nil
}

// list returns the names of a directory that all readers may know, in order,
// with the labels of those names.
func list(root *os.Root, dir string, readers []string) (out []entry, labels []event.Label, more bool, err error) {
	d, err := root.Open(dir)
	if err != nil {
		return nil, nil, false, fileFault(err)
	}
	defer closing(d)
	all, err := d.ReadDir(-1)
	if err != nil {
		return nil, nil, false, fileFault(err)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	out = []entry{}
	for _, e := range all {
		if strings.HasPrefix(strings.ToLower(e.Name()), ours) {
			continue
		}
		l, err := labelOf(root, pathKey(path.Join(dir, e.Name())))
		if err != nil {
			return nil, nil, false, err
		}
		info, err := e.Info()
		if err != nil || !readableBy(l, readers) {
			continue // gone meanwhile, or not for them
		}
		if len(out) == maxEntries {
			return out, labels, true, nil
		}
		labels = append(labels, l)
		one := entry{Name: strings.ToValidUTF8(e.Name(), "\uFFFD"), Kind: "other", Size: info.Size()}
		switch m := info.Mode(); {
		case m.IsRegular():
			one.Kind = "file"
		case m.IsDir():
			one.Kind, one.Size = "directory", 0
		case m&fs.ModeSymlink != 0:
			one.Kind, one.Size = "link", 0
		}
		out = append(out, one)
	}
	return out, labels, false, nil
}

// Act implements skill.Executable. A file that holds the text already is the
// work of an attempt that was cut off, or of somebody who meant the same: the
// expected hash and the read-back of the content make the act idempotent.
func (f fileWrite) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		Path   string `json:"path"`
		Text   string `json:"text"`
		Expect string `json:"expect"`
	}
	if err := begin(c, manifest.PermitFiles, &a); err != nil {
		return skill.Output{}, err
	}
	if err := checkFilePath(a.Path); err != nil {
		return skill.Output{}, err
	}
	if !utf8.ValidString(a.Text) || strings.ContainsRune(a.Text, 0) {
		return skill.Output{}, fault.New(fault.Invalid, "a file is text in UTF-8").On("text")
	}
	root, err := f.files.account(c.Account)
	if err != nil {
		return skill.Output{}, err
	}
	defer closing(root)
	defer f.files.lock(c.Account, a.Path).Unlock()
	d := sha256.Sum256([]byte(a.Text))
	sum := hex.EncodeToString(d[:])
	out := skill.Output{Value: map[string]any{"path": a.Path, "sha256": sum, "size": len(a.Text)}}
	now, err := load(root, a.Path)
	fresh := fault.Is(err, fault.NotFound)
	switch {
	case err != nil && !fresh:
		return skill.Output{}, err
	case fresh && a.Expect != "new":
		return skill.Output{}, fault.New(fault.Conflict, "there is no such file; expect new to make one").On("expect")
	case !fresh && now.sum != sum && a.Expect == "new":
		return skill.Output{}, fault.New(fault.Conflict, "there is such a file already; read it first").On("expect")
	case !fresh && now.sum != sum && now.sum != a.Expect:
		return skill.Output{}, fault.New(fault.Conflict, "the file is not what was expected; read it again").On("expect")
	}
	temporary := ours + "-" + c.Key[:min(len(c.Key), 32)]
	if err := mark(root, contentKey(sum), temporary, c.Label); err != nil {
		return skill.Output{}, err
	}
	if !fresh && now.sum == sum {
		return out, nil
	}
	mode := fs.FileMode(0o600)
	if fresh {
		if err := f.name(root, a.Path, temporary, c.Label); err != nil {
			return skill.Output{}, err
		}
	} else {
		mode = now.mode
	}
	return out, replace(root, a.Path, temporary, []byte(a.Text), mode, fresh)
}

// name labels the name of a new file and makes the directories above it.
func (fileWrite) name(root *os.Root, p, temporary string, l event.Label) error {
	if err := mark(root, pathKey(p), temporary, l); err != nil {
		return err
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if _, err := stat(root, dir); err == nil {
			break
		} else if !fault.Is(err, fault.NotFound) {
			return err
		}
		if err := mark(root, pathKey(dir), temporary, l); err != nil {
			return err
		}
	}
	return makeDirs(root, p)
}
