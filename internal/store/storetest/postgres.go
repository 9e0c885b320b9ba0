package storetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL cluster in a temporary folder, reached by its socket.
type Server struct {
	dir     string
	attr    *syscall.SysProcAttr
	program string
	args    []string
	cmd     *exec.Cmd
	made    atomic.Int64
}

var (
	shared     *Server   // one per test process
	sharedErr  error     //nolint:errname // not a sentinel
	sharedOnce sync.Once //nolint:gochecknoglobals // one server per test process
)

// Postgres returns the server of this test process, starting it the first time.
func Postgres(t testing.TB) *Server {
	t.Helper()
	sharedOnce.Do(func() { shared, sharedErr = StartServer(false) })
	if sharedErr != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("PostgreSQL is required in CI: %v", sharedErr)
		}
		t.Skipf("no PostgreSQL: %v", sharedErr)
	}
	return shared
}

// StartServer starts a cluster. durable keeps fsync on, for benchmarks and
// torture; tests of logic do without.
func StartServer(durable bool) (*Server, error) {
	bin, err := findBin()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "witan-pg-")
	if err != nil {
		return nil, err
	}
	if err := sweepAfter(dir); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} // dies with the test
	if os.Geteuid() == 0 {                                   // PostgreSQL refuses root
		u, err := user.Lookup("postgres")
		if err != nil {
			return nil, fmt.Errorf("running as root needs a user postgres: %w", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-D", data)
	initdb.SysProcAttr, initdb.Dir = &syscall.SysProcAttr{Credential: attr.Credential}, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{"-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "max_wal_size=2GB"}
	if !durable {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	s := &Server{dir: dir, attr: attr, program: filepath.Join(bin, "postgres"), args: args}
	if err := s.Restart(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Restart starts the server, after Kill on what the crash left, and waits until
// it answers.
func (s *Server) Restart() error {
	s.cmd = exec.Command(s.program, s.args...)
	s.cmd.SysProcAttr, s.cmd.Dir = s.attr, s.dir
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := startPinned(s.cmd); err != nil {
		return err
	}
	for range 400 {
		c, err := pgx.Connect(context.Background(), s.URL("postgres"))
		if err == nil {
			return c.Close(context.Background())
		}
		<-time.After(25 * time.Millisecond)
	}
	b, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return fmt.Errorf("PostgreSQL did not start: %s", b)
}

func findBin() (string, error) {
	if m, _ := filepath.Glob("/usr/lib/postgresql/*/bin"); len(m) > 0 {
		return m[len(m)-1], nil
	}
	p, err := exec.LookPath("postgres")
	if err != nil {
		return "", fmt.Errorf("install it: apt-get install postgresql")
	}
	if p, err = filepath.EvalSymlinks(p); err != nil {
		return "", err
	}
	return filepath.Dir(p), nil
}

// URL returns the connection string of a database.
func (s *Server) URL(db string) string {
	return "postgres:///" + db + "?user=postgres&host=" + s.dir
}

// Create makes an empty database and returns its URL.
func (s *Server) Create() (string, error) { return s.create("") }

func (s *Server) create(template string) (string, error) {
	name := fmt.Sprintf("t%d", s.made.Add(1))
	c, err := pgx.Connect(context.Background(), s.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer c.Close(context.Background())
	text := "CREATE DATABASE " + name
	if template != "" {
		text += " TEMPLATE " + template
	}
	_, err = c.Exec(context.Background(), text)
	return s.URL(name), err
}

// Kill ends the server at once, as a crash would.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		_ = s.cmd.Wait()
	}
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() { s.Kill(); _ = os.RemoveAll(s.dir) }
