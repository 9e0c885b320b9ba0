package secret

import (
	"errors"
	"fmt"
	"io/fs"
)

// The failures of this package; test for them with errors.Is.
var (
	ErrExists      = errors.New("the keyring exists already")
	ErrNoKeyring   = errors.New("there is no keyring")
	ErrBadKeyring  = errors.New("the keyring cannot be read")
	ErrPermissions = errors.New("others can read the keyring")
	ErrNoKey       = errors.New("the keyring does not hold this key")
	ErrTampered    = errors.New("the bytes do not match their proof")
	ErrPurpose     = errors.New("this purpose has no such keys")
)

// PermissionError says which path is open to others and how to close it.
type PermissionError struct {
	Path string
	Mode fs.FileMode // as found
	Want fs.FileMode // at most
}

// Error names the path and the mode that was found, with the fix.
func (e *PermissionError) Error() string {
	return fmt.Sprintf("%s: %s has mode %04o; %s", ErrPermissions, e.Path, e.Mode.Perm(), e.Fix())
}

// Fix is the command that repairs it.
func (e *PermissionError) Fix() string { return fmt.Sprintf("run: chmod %04o %s", e.Want, e.Path) }

// Unwrap returns ErrPermissions.
func (*PermissionError) Unwrap() error { return ErrPermissions }
