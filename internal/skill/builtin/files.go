package builtin

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Limits of the files folder.
const (
	maxFile      = 16 << 20 // bytes of a file that is read
	maxChunk     = 150_000  // bytes of text in one result
	maxFilePath  = 512      // bytes
	maxFileDepth = 16       // names in a path
	maxEntries   = 1000     // of one directory
)

// ours is the start of names that are not for callers: labels and unfinished files.
const ours = ".witan"

// Files is the files folder: one directory per account, which the system
// confines (os.Root), so that neither ".." nor a link leads out of it. Links
// inside are refused as well: a second name for a file would slip past a policy
// that speaks of the first.
//
// It is safe for concurrent use within one process. Two processes on one folder
// are kept apart only as far as the file system goes: a new file is created by
// one of them; of two writes that expect the same hash the later one stays.
type Files struct {
	root  *os.Root
	locks [64]sync.Mutex // by account and path
}

// OpenFiles opens the folder and makes it if it is not there.
func OpenFiles(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, "make the files folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "open the files folder: %w", err)
	}
	return &Files{root: root}, nil
}

// Close lets the folder go.
func (f *Files) Close() error { return f.root.Close() }

// account opens the directory of an account.
func (f *Files) account(a id.ID) (*os.Root, error) {
	name := a.String()
	if name == "" {
		return nil, fault.New(fault.Internal, "files without an account")
	}
	if err := f.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fileFault(err)
	}
	root, err := f.root.OpenRoot(name)
	return root, fileFault(err)
}

// closing lets go of what was only read, or is durable already.
func closing(c io.Closer) { _ = c.Close() }

// lock keeps two writers of one file in this process apart.
func (f *Files) lock(a id.ID, path string) *sync.Mutex {
	h := fnv.New32a()
	_, _ = h.Write(a[:])
	_, _ = h.Write([]byte(path))
	l := &f.locks[h.Sum32()%uint32(len(f.locks))]
	l.Lock()
	return l
}

// fileFault classifies an error of the file system. What it says about paths of
// this machine stays a cause, which is not shown.
func fileFault(err error) error {
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, "there is no such file: %w", err).On("path")
	case errors.Is(err, fs.ErrExist):
		return fault.New(fault.Conflict, "there is a file of that name already: %w", err).On("path")
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Denied, "the system does not permit it: %w", err).On("path")
	}
	return fault.New(fault.Unavailable, "the files folder cannot be used: %w", err)
}

var deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// checkFilePath returns fault.Invalid for a path that is not names joined by "/".
func checkFilePath(p string) error {
	bad := func(why string) error {
		return fault.New(fault.Invalid, "that is no path in the files folder: %s", why).On("path")
	}
	if p == "" || len(p) > maxFilePath || !utf8.ValidString(p) {
		return bad("it has 1 to 512 bytes of text")
	}
	names := strings.Split(p, "/")
	if len(names) > maxFileDepth {
		return bad("it is too deep")
	}
	for _, n := range names {
		switch {
		case n == "":
			return bad(`a name is empty; write it without a "/" at its ends`)
		case n == "." || n == "..":
			return bad(`"." and ".." are no names`)
		case strings.HasPrefix(strings.ToLower(n), ours):
			return bad("that name is reserved")
		case len(n) > 200:
			return bad("a name is too long")
		case n[0] == ' ' || strings.HasSuffix(n, " ") || strings.HasSuffix(n, ".") || strings.ContainsAny(n, `\:*?"<>|`) || deviceName.MatchString(n):
			return bad("a name has a blank or a dot at its end, or a character that not every system takes")
		}
		for _, r := range n {
			if !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
				return bad("a name has a character that cannot be seen")
			}
		}
	}
	return nil
}

// stat looks at every name of a path, and follows no link. NotFound if it ends early.
func stat(root *os.Root, p string) (fs.FileInfo, error) {
	var info fs.FileInfo
	for i := 0; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		var err error
		if info, err = root.Lstat(p[:i]); err != nil {
			return nil, fileFault(err)
		}
		switch m := info.Mode(); {
		case m&fs.ModeSymlink != 0:
			return nil, fault.New(fault.Denied, "%q is a link; links are not followed", p[:i]).On("path")
		case i < len(p) && !m.IsDir():
			return nil, fault.New(fault.Invalid, "%q is not a directory", p[:i]).On("path")
		}
	}
	return info, nil
}

// syncDir makes the names in a directory durable.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return fileFault(err)
	}
	defer closing(d)
	return fileFault(d.Sync())
}

// makeDirs makes the directories above a file, each durable in the one above it.
func makeDirs(root *os.Root, file string) error {
	for i := range file {
		if file[i] != '/' {
			continue
		}
		switch err := root.Mkdir(file[:i], 0o700); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return fileFault(err)
		}
		if err := syncDir(root, path.Dir(file[:i])); err != nil {
			return err
		}
	}
	return nil
}

// replace writes text beside a file and puts it in its place in one step, durable
// when it returns. fresh refuses to replace anything.
func replace(root *os.Root, file, temporary string, text []byte, mode fs.FileMode, fresh bool) error {
	dir := path.Dir(file)
	temporary = path.Join(dir, temporary)
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an attempt that was cut off
		return fileFault(err)
	}
	out, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fileFault(err)
	}
	_, err = out.Write(text)
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil {
		if fresh { // a link does not replace, a rename would
			err = root.Link(temporary, file)
			if e := root.Remove(temporary); err == nil {
				err = e
			}
		} else {
			err = root.Rename(temporary, file)
		}
	}
	if err != nil {
		_ = root.Remove(temporary) // the first error says why
		return fileFault(err)
	}
	return syncDir(root, dir)
}

// Text returns a file of the account's folder, for showing what a call would
// change. fault.NotFound if there is none.
func (f *Files) Text(account id.ID, path string) (string, error) {
	if err := checkFilePath(path); err != nil {
		return "", err
	}
	root, err := f.account(account)
	if err != nil {
		return "", err
	}
	defer closing(root)
	c, err := load(root, path)
	return string(c.text), err
}
